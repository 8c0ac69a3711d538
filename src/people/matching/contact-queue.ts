import type { Pool } from '../../db/connect.ts'
import { serviceUnavailable } from '../../platform/errors.ts'

/** Work of one company that may wait or run in one process. */
const WORK_MAX = 500

/** The work of one company by key: the end of the last work that arrived for each key. */
type Queue = { readonly ends: Map<string, Promise<void>>; count: number }

/** One pool's queues, by company. A queue exists while it has work. */
const queues = new WeakMap<Pool, Map<number, Queue>>()

/**
 * Runs work of one company when the earlier work with one of its keys has ended: work that would wait for the same lock,
 * or that should not run twice at a time, waits here and holds no connection. How many connections a company has is
 * decided where the work starts its statements (db/fair-pool.ts).
 * 503 when 500 pieces of the company's work wait or run already.
 */
export async function runExclusive<T>(
  pool: Pool,
  companyId: number,
  keys: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const queue = queueOf(pool, companyId)
  if (queue.count >= WORK_MAX) throw serviceUnavailable('Too many writes of contacts wait: try again soon')
  queue.count += 1
  const place = joinQueue(queue, keys)
  try {
    await place.earlier
    return await work()
  } finally {
    place.leave()
    queue.count -= 1
    if (queue.count === 0) queues.get(pool)?.delete(companyId)
  }
}

/** Whether no work of the company with one of these keys runs or waits. */
export function isFree(pool: Pool, companyId: number, keys: readonly string[]): boolean {
  const ends = queues.get(pool)?.get(companyId)?.ends
  return ends === undefined || !keys.some((key) => ends.has(key))
}

function queueOf(pool: Pool, companyId: number): Queue {
  const ofPool = queues.get(pool) ?? new Map<number, Queue>()
  queues.set(pool, ofPool)
  const queue = ofPool.get(companyId) ?? { ends: new Map(), count: 0 }
  ofPool.set(companyId, queue)
  return queue
}

/** All keys are taken at once, so that no two pieces of work wait for each other. */
function joinQueue({ ends }: Queue, keys: readonly string[]): { earlier: Promise<unknown>; leave: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const earlier = Promise.all(keys.map((key) => ends.get(key)))
  for (const key of keys) ends.set(key, promise)
  return {
    earlier,
    leave: () => {
      for (const key of keys) if (ends.get(key) === promise) ends.delete(key)
      resolve()
    },
  }
}
