import type { Pool } from '../db/connect.ts'
import { serviceUnavailable } from '../errors.ts'

/** Writes of one company that may wait or run in one process. */
const WRITES_MAX = 500

/** One company's writes, in the order in which they came. */
type Queue = {
  /** The end of the last write that came for each key. */
  readonly ends: Map<string, Promise<void>>
  /** Writes that run; the others wait in `ready` for their place. */
  running: number
  readonly ready: (() => void)[]
  writes: number
}

/** One pool's queues, by company. A queue exists while it has writes. */
const queues = new WeakMap<Pool, Map<number, Queue>>()

/**
 * Runs work of one company when the earlier work with one of its keys is over, and while less than a third of the
 * pool's connections serve the company here: more would be refused in front of the pool after a short wait. Work that
 * waits here holds no connection.
 * 503 when 500 writes of the company are waiting already.
 */
export async function inTurn<T>(
  pool: Pool,
  companyId: number,
  keys: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const queue = queueOf(pool, companyId)
  if (queue.writes >= WRITES_MAX) throw serviceUnavailable('Too many writes of contacts wait: try again soon')
  queue.writes += 1
  const end = takeTurn(queue, keys)
  try {
    await end.earlier
    await takePlace(queue, Math.max(1, Math.floor(pool.options.max / 3)))
    try {
      return await work()
    } finally {
      leavePlace(queue)
    }
  } finally {
    end.leave()
    queue.writes -= 1
    if (queue.writes === 0) queues.get(pool)?.delete(companyId)
  }
}

function queueOf(pool: Pool, companyId: number): Queue {
  const ofPool = queues.get(pool) ?? new Map<number, Queue>()
  queues.set(pool, ofPool)
  const queue = ofPool.get(companyId) ?? { ends: new Map(), running: 0, ready: [], writes: 0 }
  ofPool.set(companyId, queue)
  return queue
}

/** All keys are taken at once, so that no two writes wait for each other. */
function takeTurn({ ends }: Queue, keys: readonly string[]): { earlier: Promise<unknown>; leave: () => void } {
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

async function takePlace(queue: Queue, places: number): Promise<void> {
  if (queue.running < places) queue.running += 1
  else await new Promise<void>((resolve) => queue.ready.push(resolve))
}

/** The place goes to the next write, if one waits. */
function leavePlace(queue: Queue): void {
  const next = queue.ready.shift()
  if (next === undefined) queue.running -= 1
  else next()
}
