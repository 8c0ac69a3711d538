import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { COMPANY_SHARE, createFairLine } from '../../fair/fair-line.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { type AppError, overloaded } from '../../platform/errors.ts'
import type { Pool } from '../connect.ts'

const callers = new AsyncLocalStorage<SlotRequest>()
const activity = createActivity()

/** Runs a company's work: on a fair pool, its statements and transactions wait for a company slot. */
export const onBehalfOf = <T>(request: SlotRequest, work: () => T): T => {
  activity.note(request.companyId)
  return callers.run(request, work)
}

/** Returns whether this process has worked for no other company within five seconds. */
export const isAlone = (companyId: number): boolean => activity.isAlone(companyId)

/** Runs work that outlives its request, outside of any company slot. */
export const withoutRequest = <T>(work: () => T): T => callers.exit(work)

export const currentRequest = (): SlotRequest | undefined => callers.getStore()

export type RequireUnlocked = (companyId: number) => Promise<void> | undefined

/**
 * Shares the pool among companies: within `onBehalfOf`, work waits for a company slot without holding a connection and
 * starts only while the company is unlocked. Throws 503 `service_unavailable` after too long a wait or queue: the work
 * never ran.
 */
export function shareFairly(
  pool: Pool,
  slots: Pick<CompanySlots, 'run'>,
  requireUnlocked: RequireUnlocked = () => undefined,
): Pool {
  return pool.gated(() => {
    const request = callers.getStore()
    if (request === undefined) return undefined
    return (start) => slots.run(request, () => requireUnlocked(request.companyId)?.then(start) ?? start())
  })
}

const PAUSES_TO_STATEMENT = 2
const LONGEST_PAUSE_MS = 200

/**
 * Runs a large write, pausing while other companies call. Must not share a transaction: pauses would hold its locks.
 */
export async function runWithPauses(companyId: number, statements: readonly (() => Promise<unknown>)[]): Promise<void> {
  let pauseMs = 0
  for (const run of statements) {
    if (pauseMs > 0 && !isAlone(companyId)) await sleep(pauseMs)
    const startedAtMs = monotonicMs()
    await run()
    pauseMs = Math.min(PAUSES_TO_STATEMENT * (monotonicMs() - startedAtMs), LONGEST_PAUSE_MS)
  }
}

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
function createActivity() {
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
