import { expect, test } from 'vitest'
import { has } from '../deploy/deploy-files.ts'
import { copyWith, FAULTS, UNCOVERED } from './control.ts'
import { attack, BEHIND_PROXY } from './run.ts'
import { COUNTERS, total } from './tally.ts'

/** Ends a run that hangs. */
const DEADLINE_MS = 1_800_000
/**
 * A short `npm run hostile`, with the same bounds. All of them are counts and ratios: a slow machine raises none, and only a
 * call that hangs meets a deadline. Delays of healthy calls are printed by `npm run hostile`, and asserted nowhere.
 */
const options = { seed: 20_261_122, requests: 600 }

test('hostile input of every kind leaves the counters at zero', { timeout: DEADLINE_MS }, async () => {
  const tally = await attack(options)
  expect(tally.findings).toEqual([])
  expect(total(tally)).toBe(0)
  expect(tally.requests).toBeGreaterThan(options.requests)
})

test.skipIf(!has('nginx'))('attacks through nginx leave the counters at zero', { timeout: DEADLINE_MS }, async () => {
  // nginx waits for each unread answer; `npm run hostile` has those attacks, too.
  const only = BEHIND_PROXY.filter((name) => !name.endsWith('nobody reads'))
  const tally = await attack({ ...options, only, world: { isBehindNginx: true } })
  expect(tally.findings).toEqual([])
  expect(total(tally)).toBe(0)
  expect(tally.requests).toBeGreaterThan(only.length)
})

test('each counter is raised by a service with the fault that it looks for', { timeout: DEADLINE_MS }, async () => {
  const { root, remove } = copyWith(FAULTS)
  const tally = await attack({ ...options, control: { uncovered: UNCOVERED }, world: { root } }).finally(remove)
  expect(COUNTERS.filter((counter) => tally.counts[counter] === 0)).toEqual([])
})
