import { expect, test } from 'vitest'
import { COMPANY_OF_REGISTRATIONS, copyWithout } from './control.ts'
import { attack } from './run.ts'
import { total } from './tally.ts'

/** A short `npm run hostile`. Time is judged generously: the machine may be busy. */
const options = { seed: 20_261_122, requests: 800, slowMs: 20_000, memoryMegabytes: 600 }

test('hostile input of every kind leaves the counters at zero', async () => {
  const tally = await attack(options)
  expect(tally.findings).toEqual([])
  expect(total(tally)).toBe(0)
  expect(tally.requests).toBeGreaterThan(options.requests)
}, 300_000)

test('a service without one guard is noticed', async () => {
  const { root, remove } = copyWithout(COMPANY_OF_REGISTRATIONS)
  const tally = await attack({ ...options, onlyForeignIds: true, stage: { root } }).finally(remove)
  expect(tally.counts['answers that differ for foreign ids']).toBeGreaterThan(0)
}, 120_000)
