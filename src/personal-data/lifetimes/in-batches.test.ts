import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ExpiryBatch } from '../../db/lifetime-store.ts'
import { forEach, inBatches } from './in-batches.ts'

const { signal } = new AbortController()

/** A table of rows in their order, of which some can't be deleted. */
function createTable(rows: readonly boolean[]) {
  const left = rows.map((isBad, place) => ({ isBad, place }))
  const remove = async ({ limit, skip }: ExpiryBatch) => {
    const batch = left.slice(skip, skip + limit)
    if (batch.some(({ isBad }) => isBad)) throw new Error('of the row')
    left.splice(skip, limit)
    return batch.length
  }
  return { left, remove }
}

test('rows that cannot be deleted keep no other row', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 100 }).map((rows) => rows.map((one) => one === 0)),
      fc.integer({ min: 1, max: 40 }),
      async (rows, full) => {
        fc.pre(rows.filter(Boolean).length < 20)
        const { left, remove } = createTable(rows)
        const run = inBatches(full, remove, signal)
        if (rows.includes(true)) await expect(run).rejects.toThrow('of the row')
        else await run
        // A run has a bounded number of statements; the next one goes on.
        for (let runs = 0; runs < 10; runs += 1) await inBatches(full, remove, signal).catch(() => {})
        expect(left.every(({ isBad }) => isBad)).toBe(true)
      },
    ),
  )
})

test('a database that is down ends the run at once', async () => {
  let calls = 0
  const remove = async () => {
    calls += 1
    throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
  }
  await expect(inBatches(100, remove, signal)).rejects.toThrow('away')
  expect(calls).toBe(1)
})

test('a subject that fails keeps no other one', async () => {
  const done: number[] = []
  const work = async (subject: number) => {
    if (subject === 1) throw new Error('of the subject')
    done.push(subject)
  }
  await expect(forEach([1, 2, 3], work, signal)).rejects.toThrow('of the subject')
  expect(done).toEqual([2, 3])
})
