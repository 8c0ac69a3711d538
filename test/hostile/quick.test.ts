import { expect, test } from 'vitest'
import { copyWith, FAULTS, UNCOVERED } from './control.ts'
import { attack } from './run.ts'
import { COUNTERS, total } from './tally.ts'

/** A short `npm run hostile`, with the same bounds. */
const options = { seed: 20_261_122, requests: 800 }

test('hostile input of every kind leaves the counters at zero', async () => {
  const tally = await attack(options)
  expect(tally.findings).toEqual([])
  expect(total(tally)).toBe(0)
  expect(tally.requests).toBeGreaterThan(options.requests)
}, 600_000)

test('each counter is raised by a service with the fault that it looks for', async () => {
  const { root, remove } = copyWith(FAULTS)
  const tally = await attack({ ...options, uncovered: UNCOVERED, stage: { root } }).finally(remove)
  expect(COUNTERS.filter((counter) => tally.counts[counter] === 0)).toEqual([])
}, 600_000)
