import { monotonicMs } from '../platform/clock.ts'
import { type AppError, overloaded } from '../platform/errors.ts'
import { createTimer } from '../platform/timer.ts'
import { createFairQueue, type FairQueue } from './fair-queue.ts'

export type SlotRequest = {
  companyId: number
  /** Keeps a database core busy: always limited to the company share. */
  isHeavy: boolean
  /** Whether the caller is still connected. */
  isAwaited: () => boolean
}

type WaitingRequest = {
  request: SlotRequest
  sinceMs: number
  start: () => void
  refuse: (error: unknown) => void
}

export type SlotQueueLimits = {
  /** Work that waits longer, in milliseconds, is refused and never runs. */
  maxWaitMs: number
  maxHeavyWaitMs: number
}

type SlotQueue = Pick<FairQueue<number, WaitingRequest>, 'size' | 'sizeOf' | 'companies' | 'first'> & {
  add(request: SlotRequest, start: () => void, refuse: (error: unknown) => void): void
  removeFirst(companyId: number): void
}

const RETRY_AFTER_SECONDS = 1

export const noSlot = (): AppError => overloaded(RETRY_AFTER_SECONDS)

/** Creates an empty queue. Expired waits end within a quarter of `maxWaitMs`. */
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
