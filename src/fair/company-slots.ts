import { monotonicMs } from '../platform/clock.ts'
import { type AppError, overloaded } from '../platform/errors.ts'
import { COMPANY_SHARE, createFairLine } from './fair-line.ts'

export type SlotRequest = {
  companyId: number
  /** Keeps a database core busy: always limited to the company share. */
  isHeavy: boolean
  /** Whether the caller is still connected. */
  isAwaited: () => boolean
}

export type SlotLimits = {
  slots: number
  /** A third of them for one company. */
  maxWaiting: number
  /** Work that waits longer, in milliseconds, is refused and never runs. */
  maxWaitMs: number
  maxHeavyWaitMs: number
}

export type CompanySlots = {
  /** Holds the slot until the work ends, even if the caller stops waiting. Throws 503 with `Retry-After`. */
  run<T>(request: SlotRequest, work: () => Promise<T>): Promise<T>
  /** Takes a slot at once, for work that still touches the request's rows; returns the release function. */
  hold(companyId: number): () => void
}

type WaitingRequest = {
  request: SlotRequest
  sinceMs: number
  start: () => void
  refuse: (error: unknown) => void
}

const RETRY_AFTER_SECONDS = 1
const ALONE_AFTER_MS = 5_000

/** Serves companies in rotation. Each has at most a third; while alone it can have more, but a third stays free. */
export function createCompanySlots({ slots, maxWaiting, maxWaitMs, maxHeavyWaitMs }: SlotLimits): CompanySlots {
  const share = Math.max(1, Math.floor(slots * COMPANY_SHARE))
  const line = createFairLine<number, WaitingRequest>({
    maxWaiting,
    expiry: {
      maxWaitMs,
      isLate: ({ request, sinceMs }, nowMs) => nowMs - sinceMs >= (request.isHeavy ? maxHeavyWaitMs : maxWaitMs),
      refuse: ({ refuse }) => refuse(noSlot()),
    },
  })
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
    while (running < slots) {
      const next = line.next(({ request }) => mayRun(request))
      if (next === undefined) return
      if (next.request.isAwaited()) next.start()
      else next.refuse(noSlot())
    }
  }

  return {
    run: <T>(request: SlotRequest, work: () => Promise<T>): Promise<T> => {
      const { companyId } = request
      activity.note(companyId)
      if (line.sizeOf(companyId) === 0 && mayRun(request)) return execute(companyId, work)
      return new Promise<T>((resolve, reject) => {
        const start = () => void execute(companyId, work).then(resolve, reject)
        if (!line.add(companyId, { request, sinceMs: monotonicMs(), start, refuse: reject })) reject(noSlot())
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

const noSlot = (): AppError => overloaded(RETRY_AFTER_SECONDS)

/** Remembers the last two companies, enough to know whether one is alone. */
export function createActivity() {
  let latest = { companyId: 0, atMs: Number.NEGATIVE_INFINITY }
  let earlier = latest
  return {
    note: (companyId: number): void => {
      if (latest.companyId !== companyId) earlier = latest
      latest = { companyId, atMs: monotonicMs() }
    },
    isAlone: (companyId: number): boolean => {
      const other = latest.companyId === companyId ? earlier : latest
      return monotonicMs() - other.atMs > ALONE_AFTER_MS
    },
  }
}
