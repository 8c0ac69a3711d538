import type { ExpiryBatch } from '../../db/lifetime-store.ts'
import { isDatabaseDown } from '../../db/pool/failure.ts'

/** Keeps a delete statement within milliseconds. */
export const ROWS = 1_000
/** Where each row takes others along. */
export const GROUPS = 100

/** 100,000 rows in 30 s, more than a process writes in that time. */
const MOST_STATEMENTS = 100
const MOST_FAILURES = 20

/**
 * Repeats a delete statement, halving failed batches to isolate and skip undeletable rows.
 * @throws the first failure, after all other rows; at once when the database is down
 */
export async function inBatches(
  full: number,
  remove: (batch: ExpiryBatch) => Promise<number>,
  signal: AbortSignal,
): Promise<void> {
  const failures: unknown[] = []
  let limit = full
  for (let statements = 0; statements < MOST_STATEMENTS && !signal.aborted; statements += 1) {
    try {
      if ((await remove({ limit, skip: failures.length })) < limit) break
      limit = Math.min(limit * 2, full)
    } catch (error) {
      if (isDatabaseDown(error)) throw error
      if (limit === 1) failures.push(error)
      if (failures.length === MOST_FAILURES) break
      limit = Math.ceil(limit / 2)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** Throws the first failure, after all subjects. */
export async function forEach<Subject>(
  subjects: readonly Subject[],
  work: (subject: Subject) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const failures: unknown[] = []
  for (const subject of subjects) {
    if (signal.aborted) break
    await work(subject).catch((error: unknown) => failures.push(error))
  }
  if (failures.length > 0) throw failures[0]
}
