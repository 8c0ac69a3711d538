import { expect, test } from 'vitest'
import type { Job } from '../job.ts'
import { mayLeaveWork, waitAfter } from './claim-loop.ts'

/** Claimed jobs: one batch for each number, of so many jobs. */
const batchesOf = (...sizes: number[]): Job[] =>
  sizes.flatMap((size, batch) =>
    Array.from({ length: size }, (_, place) => ({
      id: batch * 1_000 + place,
      claimId: `claim ${batch}`,
      kind: 'work',
      lane: `lane ${batch}`,
      companyId: 1,
      subjectId: place,
      dueAt: new Date(0),
      attempts: 0,
      createdAt: new Date(0),
    })),
  )

test.each([
  ['many lanes that give a job each', batchesOf(...Array(35).fill(1)), false, false],
  ['a lane that gives a whole batch', batchesOf(1, 16), false, true],
  ['nothing, and no lane passed over', [], false, false],
  ['a lane passed over for want of room', batchesOf(1), true, true],
])('whether the end of a batch is a reason to look for work, after %s', (_, jobs, sawFull, isReason) => {
  expect(mayLeaveWork({ jobs, sawFull, fullBatch: 16 })).toBe(isReason)
})

test('it is one for each job of a kind without batches', () => {
  expect(mayLeaveWork({ jobs: batchesOf(1), sawFull: false, fullBatch: 1 })).toBe(true)
})

test.each([
  ['that fall due at once', batchesOf(1), true, 0, 50],
  ['that fall due one after the other', [], true, 7, 50],
  ['that fall due before the next poll', [], true, 80, 81],
  ['that fall due later', [], true, 10_000, 112],
  ['and none that waits', [], true, undefined, 112],
  ['and more that is due', batchesOf(1), false, 0, 20],
])('how long a claim loop waits with jobs %s', (_, jobs, tookAll, nextDueInMs, waitMs) => {
  expect(waitAfter({ jobs, nextDueInMs }, tookAll, 112)).toBe(waitMs)
})
