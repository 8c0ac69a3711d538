import { expect, test } from 'vitest'
import { createTally, latenciesOf, type Measured, QUIET } from './tally.ts'

const SECOND = 1_000
const shares = { measured: 10 * SECOND, ran: 0, waited: 0, database: 0, others: 0, disk: 0 }
const fast = Array.from({ length: 100 }, () => 5)
const slow = Array.from({ length: 100 }, () => 50)

test('delays count, unless other programs or the disk disturbed the calls', () => {
  const measured: Measured[] = [
    { name: QUIET, ms: fast, ...shares },
    { name: 'undisturbed', ms: slow, ...shares },
    { name: 'beside a program', ms: slow, ...shares, others: 2 * SECOND },
    { name: 'on a disk that stood still', ms: slow, ...shares, disk: SECOND },
  ]
  expect(judge(measured)).toEqual({
    'no attack': [1, true],
    undisturbed: [10, true],
    'beside a program': [10, false],
    'on a disk that stood still': [10, false],
  })
})

test('no delay counts when the calls without an attack were disturbed', () => {
  const measured = [
    { name: QUIET, ms: fast, ...shares, disk: SECOND },
    { name: 'an attack', ms: slow, ...shares },
  ]
  expect(judge(measured)).toMatchObject({ 'an attack': [10, false] })
})

test('an attack is compared with the quiet calls just before it', () => {
  const tally = createTally()
  tally.addLatency({ name: QUIET, ms: fast, ...shares })
  const quiet = { name: QUIET, ms: slow, ...shares }
  for (let turn = 0; turn < 2; turn += 1) tally.addLatency({ name: 'an attack', ms: slow, ...shares }, quiet)
  const attacked = latenciesOf(tally).find(({ name }) => name === 'an attack')
  expect(attacked).toMatchObject({ calls: 200, ofQuiet: 1, isAlone: true })
})

function judge(measured: readonly Measured[]): Record<string, [ofQuiet: number, isAlone: boolean]> {
  const tally = createTally()
  for (const one of measured) tally.addLatency(one)
  return Object.fromEntries(latenciesOf(tally).map(({ name, ofQuiet, isAlone }) => [name, [ofQuiet, isAlone]]))
}
