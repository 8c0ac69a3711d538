import { createActivity } from './company-activity.ts'
import { createSlotQueue, noSlot, type SlotQueueLimits, type SlotRequest } from './slot-queue.ts'

export type SlotLimits = SlotQueueLimits & {
  /** Requests that work at the same time at most, of all companies. */
  slots: number
  /** Requests that wait at most; a third of them one company's. */
  maxWaiting: number
}

export type CompanySlots = {
  /**
   * Runs work when a slot is free for its company. The slot is held until the work ends, even if the caller stops waiting.
   * @throws {AppError} 503 `service_unavailable` with `Retry-After`, when too many requests wait, or this one waited too long
   */
  run<T>(request: SlotRequest, work: () => Promise<T>): Promise<T>
  /**
   * Takes a slot from the company's share at once, for what its requests still do with their rows. Returns a function that
   * gives it back.
   */
  hold(companyId: number): () => void
}

/** The part of all slots, and of all places to wait, that one company has at most. */
const COMPANY_SHARE = 1 / 3

/**
 * Shares slots among companies. A company has at most a third of the slots; while it is alone it may have more, as long
 * as a third stays free for the company that comes next. Companies that wait are served round robin.
 */
export function createCompanySlots({ slots, maxWaiting, ...waits }: SlotLimits): CompanySlots {
  const share = Math.max(1, Math.floor(slots * COMPANY_SHARE))
  const queue = createSlotQueue(waits)
  const activity = createActivity()
  /** The number of running requests by company; a company without one is left out. */
  const runningOf = new Map<number, number>()
  const heldOf = new Map<number, number>()
  let running = 0

  const mayRun = ({ companyId, isHeavy }: SlotRequest): boolean => {
    if (running >= slots) return false
    const held = heldOf.get(companyId) ?? 0
    if ((runningOf.get(companyId) ?? 0) + held < share) return true
    return !isHeavy && slots - running - held > share && activity.isAlone(companyId)
  }

  const add = (counts: Map<number, number>, companyId: number, by: number): void => {
    const left = (counts.get(companyId) ?? 0) + by
    if (left === 0) counts.delete(companyId)
    else counts.set(companyId, left)
  }
  const count = (companyId: number, by: number): void => {
    add(runningOf, companyId, by)
    running += by
  }

  const execute = async <T>(companyId: number, work: () => Promise<T>): Promise<T> => {
    count(companyId, 1)
    try {
      return await work()
    } finally {
      count(companyId, -1)
      startNext()
    }
  }

  const startNext = (): void => {
    for (const companyId of queue.companies()) {
      if (running >= slots) return
      const first = queue.first(companyId)
      if (first === undefined || !mayRun(first.request)) continue
      queue.removeFirst(companyId)
      if (first.request.isAwaited()) first.start()
      else first.refuse(noSlot())
    }
  }

  return {
    run: <T>(request: SlotRequest, work: () => Promise<T>): Promise<T> => {
      const { companyId } = request
      activity.note(companyId)
      const waiting = queue.sizeOf(companyId)
      if (waiting === 0 && mayRun(request)) return execute(companyId, work)
      if (queue.size >= maxWaiting || waiting >= maxWaiting * COMPANY_SHARE) return Promise.reject(noSlot())
      return new Promise<T>((resolve, reject) => {
        queue.add(request, () => void execute(companyId, work).then(resolve, reject), reject)
      })
    },
    hold: (companyId) => {
      add(heldOf, companyId, 1)
      return () => {
        add(heldOf, companyId, -1)
        startNext()
      }
    },
  }
}
