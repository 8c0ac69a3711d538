import { createTimer } from '../../batching/timer.ts'
import { monotonicMs } from '../../clock.ts'
import { type AppError, overloaded } from '../../errors.ts'

/** A piece of work that asks for a slot. */
export type SlotRequest = {
  companyId: number
  /** Work that keeps a core of the database busy: always held to the company's share. */
  isHeavy: boolean
  /** Whether the caller is still connected when the slot is free. */
  isWanted: () => boolean
}

/** A request that waits, and how its wait ends. */
export type WaitingRequest = {
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

/** Requests that wait for a slot: in order of arrival within a company, and companies round robin. */
export type SlotQueue = {
  readonly size: number
  sizeOf(companyId: number): number
  /** The companies with requests that wait, in the order in which they are served. */
  companies(): number[]
  first(companyId: number): WaitingRequest | undefined
  add(request: SlotRequest, start: () => void, refuse: (error: unknown) => void): void
  /** Removes the company's first request, and moves the company behind the others. */
  removeFirst(companyId: number): void
}

const RETRY_AFTER_SECONDS = 1

/** The answer to a request that gets no slot: 503 with `Retry-After`. */
export const noSlot = (): AppError => overloaded(RETRY_AFTER_SECONDS)

/** An empty queue. Waits that are too long end within a quarter of `maxWaitMs` after their time. */
export function createSlotQueue({ maxWaitMs, maxHeavyWaitMs }: SlotQueueLimits): SlotQueue {
  const queues = new Map<number, WaitingRequest[]>()
  let size = 0

  const expire = (): void => {
    const nowMs = monotonicMs()
    const isLate = ({ request, sinceMs }: WaitingRequest) =>
      nowMs - sinceMs >= (request.isHeavy ? maxHeavyWaitMs : maxWaitMs)
    for (const [companyId, queue] of queues) {
      const { late = [], kept = [] } = Object.groupBy(queue, (one) => (isLate(one) ? 'late' : 'kept'))
      size -= late.length
      if (kept.length === 0) queues.delete(companyId)
      else queues.set(companyId, kept)
      for (const { refuse } of late) refuse(noSlot())
    }
    if (size > 0) expireLater(maxWaitMs / 4)
  }
  const expireLater = createTimer(expire)

  return {
    get size() {
      return size
    },
    sizeOf: (companyId) => queues.get(companyId)?.length ?? 0,
    companies: () => [...queues.keys()],
    first: (companyId) => queues.get(companyId)?.[0],
    add: (request, start, refuse) => {
      const waiting = { request, sinceMs: monotonicMs(), start, refuse }
      const queue = queues.get(request.companyId)
      if (queue === undefined) queues.set(request.companyId, [waiting])
      else queue.push(waiting)
      size += 1
      expireLater(maxWaitMs / 4)
    },
    removeFirst: (companyId) => {
      const queue = queues.get(companyId)
      if (queue?.shift() === undefined) return
      size -= 1
      queues.delete(companyId)
      if (queue.length > 0) queues.set(companyId, queue)
    },
  }
}
