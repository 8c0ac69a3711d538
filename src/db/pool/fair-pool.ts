import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CompanySlots, createActivity, type SlotRequest } from '../../fair/fair-line.ts'
import { monotonicMs } from '../../platform/clock.ts'
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
