import { createActivity } from './company-activity.ts'
import { createSlotQueue, noSlot, type SlotQueueLimits, type SlotRequest } from './slot-queue.ts'

export type SlotLimits = SlotQueueLimits & {
  slots: number
  /** A third of them for one company. */
  maxWaiting: number
}

export type CompanySlots = {
  /** Holds the slot until the work ends, even if the caller stops waiting. Throws 503 with `Retry-After`. */
  run<T>(request: SlotRequest, work: () => Promise<T>): Promise<T>
  /** Takes a slot at once, for work that still touches the request's rows; returns the release function. */
  hold(companyId: number): () => void
}

const COMPANY_SHARE = 1 / 3

/** Serves companies in rotation. Each has at most a third; while alone it can have more, but a third stays free. */
export function createCompanySlots({ slots, maxWaiting, ...waits }: SlotLimits): CompanySlots {
  const share = Math.max(1, Math.floor(slots * COMPANY_SHARE))
  const queue = createSlotQueue(waits)
  const activity = createActivity()
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
      let first = queue.first(companyId)
      while (first !== undefined && mayRun(first.request)) {
        queue.removeFirst(companyId)
        if (first.request.isAwaited()) {
          first.start()
          break
        }
        first.refuse(noSlot())
        first = queue.first(companyId)
      }
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
