import { AsyncLocalStorage } from 'node:async_hooks'
import type { CompanySlots } from './company-slots.ts'
import type { Pool } from './connect.ts'
import type { SlotRequest } from './slot-queue.ts'

const callers = new AsyncLocalStorage<SlotRequest>()

/** Runs work of a company: its statements and transactions on a fair pool wait for a slot of the company. */
export const onBehalfOf = <T>(request: SlotRequest, work: () => T): T => callers.run(request, work)

/** The request that the present work runs on behalf of; undefined outside of `onBehalfOf`. */
export const currentRequest = (): SlotRequest | undefined => callers.getStore()

/** Throws 503, or rejects with it, when the company is closed. Undefined: it is open. */
export type RequireOpen = (companyId: number) => Promise<void> | undefined

/**
 * The pool, shared fairly among companies: within `onBehalfOf`, a statement or transaction waits for a slot of its company
 * in front of the pool, where waiting holds no connection, and starts only while its company is open. Everything else goes
 * to the pool at once.
 * Statements throw 503 `service_unavailable` when too many wait, or they waited too long: they never ran.
 */
export function shareFairly(pool: Pool, slots: CompanySlots, requireOpen: RequireOpen = () => undefined): Pool {
  const begin = (...args: unknown[]): Promise<unknown> => {
    const request = callers.getStore()
    const start = (): Promise<unknown> => Reflect.apply(pool.begin, pool, args)
    if (request === undefined) return start()
    return slots.run(request, () => requireOpen(request.companyId)?.then(start) ?? start())
  }
  const run = (made: unknown) => withSlot(made, slots, requireOpen)
  const unsafe = (...args: unknown[]): unknown => run(Reflect.apply(pool.unsafe, pool, args))
  return new Proxy(pool, {
    apply: (target, self, args) => run(Reflect.apply(target, self, args)),
    get: (target, name) => (name === 'begin' ? begin : name === 'unsafe' ? unsafe : Reflect.get(target, name)),
  })
}

/** The driver's object for a tagged template. It starts when it is awaited, by passing itself to `handler`. */
type Query = Promise<unknown> & { handler: (query: unknown) => unknown; reject: (error: unknown) => void }

const isQuery = (made: unknown): made is Query =>
  made instanceof Promise && 'handler' in made && typeof made.handler === 'function' && 'reject' in made

/** A query waits for its slot when it is awaited. A fragment is never awaited and takes no slot. */
function withSlot(made: unknown, slots: CompanySlots, requireOpen: RequireOpen): unknown {
  const request = callers.getStore()
  if (request === undefined || !isQuery(made)) return made
  const { handler } = made
  made.handler = (query) => {
    const run = async () => {
      const opened = requireOpen(request.companyId)
      if (opened !== undefined) await opened
      handler(query)
      await made.then(ignore, ignore)
    }
    slots.run(request, run).catch(made.reject)
  }
  return made
}

const ignore = (): void => {}
