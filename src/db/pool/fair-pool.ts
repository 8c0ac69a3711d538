import { AsyncLocalStorage } from 'node:async_hooks'
import { createActivity } from '../../fair/company-activity.ts'
import type { CompanySlots } from '../../fair/company-slots.ts'
import type { SlotRequest } from '../../fair/slot-queue.ts'
import type { Pool } from '../connect.ts'

const callers = new AsyncLocalStorage<SlotRequest>()
const activity = createActivity()

/** Runs work of a company: its statements and transactions on a fair pool wait for a slot of the company. */
export const onBehalfOf = <T>(request: SlotRequest, work: () => T): T => {
  activity.note(request.companyId)
  return callers.run(request, work)
}

/** Whether this process has done no work for another company within the last five seconds. */
export const isAlone = (companyId: number): boolean => activity.isAlone(companyId)

/** Runs work that outlives the request that starts it, on behalf of no request. */
export const withoutRequest = <T>(work: () => T): T => callers.exit(work)

/** The request that the present work runs on behalf of; undefined outside of `onBehalfOf`. */
export const currentRequest = (): SlotRequest | undefined => callers.getStore()

/** Throws 503, or rejects with it, when the company is locked. Undefined: it is not. */
export type RequireUnlocked = (companyId: number) => Promise<void> | undefined

/**
 * The pool, shared fairly among companies: within `onBehalfOf`, a statement or transaction waits for a slot of its company
 * in front of the pool, where waiting holds no connection, and starts only while its company is unlocked. Everything else goes
 * to the pool at once.
 * Statements throw 503 `service_unavailable` when too many wait, or they waited too long: they never ran.
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
