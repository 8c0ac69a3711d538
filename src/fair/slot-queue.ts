import { monotonicMs } from '../platform/clock.ts'
import { type AppError, overloaded } from '../platform/errors.ts'
import { createTimer } from '../platform/timer.ts'
import { createFairQueue, type FairQueue } from './fair-queue.ts'

/** A piece of work that asks for a slot. */
export type SlotRequest = {
  companyId: number
  /** Work that keeps a core of the database busy: always held to the company's share. */
  isHeavy: boolean
  /** Whether the caller is still connected when the slot is free. */
  isAwaited: () => boolean
}

/** A request that waits, and how its wait ends. */
type WaitingRequest = {
  request: SlotRequest
  sinceMs: number
  start: () => void
  refuse: (error: unknown) => void
}

export type SlotQueueLimits = {
  /** The longest time that work waits for a slot, in ms. Work that waits longer is refused and never runs. */
  maxWaitMs: number
  /** The same for heavy work, whose callers wait longer. */
  maxHeavyWaitMs: number
}

/** Requests that wait for a slot, shared fairly among companies. */
type SlotQueue = Pick<FairQueue<number, WaitingRequest>, 'size' | 'sizeOf' | 'companies' | 'first'> & {
  add(request: SlotRequest, start: () => void, refuse: (error: unknown) => void): void
  /** Removes the company's first request, and moves the company behind the others. */
  removeFirst(companyId: number): void
}

const RETRY_AFTER_SECONDS = 1

/** The answer to a request that gets no slot: 503 with `Retry-After`. */
export const noSlot = (): AppError => overloaded(RETRY_AFTER_SECONDS)

/** An empty queue. Waits that are too long end within a quarter of `maxWaitMs` after their time. */
export function createSlotQueue({ maxWaitMs, maxHeavyWaitMs }: SlotQueueLimits): SlotQueue {
  const queue = createFairQueue<number, WaitingRequest>()

  const expire = (): void => {
    const nowMs = monotonicMs()
    const isLate = ({ request, sinceMs }: WaitingRequest) =>
      nowMs - sinceMs >= (request.isHeavy ? maxHeavyWaitMs : maxWaitMs)
    for (const { refuse } of queue.remove(isLate)) refuse(noSlot())
    if (queue.size > 0) expireLater(maxWaitMs / 4)
  }
  const expireLater = createTimer(expire)

  return {
    get size() {
      return queue.size
    },
    sizeOf: queue.sizeOf,
    companies: queue.companies,
    first: queue.first,
    add: (request, start, refuse) => {
      queue.add(request.companyId, { request, sinceMs: monotonicMs(), start, refuse })
      expireLater(maxWaitMs / 4)
    },
    removeFirst: (companyId) => {
      queue.shift(companyId)
      queue.moveBehind(companyId)
    },
  }
}
