import type { Pool } from '../../db/connect.ts'
import { serviceUnavailable } from '../../platform/errors.ts'

/** Maximum running and waiting calls per company and process. */
const WORK_MAX = 500

type Queue = { readonly ends: Map<string, Promise<void>>; count: number }

const queues = new WeakMap<Pool, Map<number, Queue>>()

/**
 * Runs work after earlier work with a shared key, without holding a connection.
 * @throws 503 if 500 calls of the company are running or waiting
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

/** Takes all keys at once to prevent deadlocks. */
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
