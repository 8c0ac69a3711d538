import { AsyncLocalStorage } from 'node:async_hooks'
import type { CompanyTurns, Turn } from './company-turns.ts'
import type { Pool } from './connect.ts'

const callers = new AsyncLocalStorage<Turn>()

/** Runs work of a company: its statements and transactions on a fair pool take the company's turns. */
export const onBehalfOf = <T>(turn: Turn, work: () => T): T => callers.run(turn, work)

/**
 * The pool, shared fairly among companies: within `onBehalfOf`, a statement or transaction waits for its company's turn
 * in front of the pool, where waiting holds no connection. Everything else goes to the pool at once.
 * Statements throw 503 `service_unavailable` when too many wait, or they waited too long: they never ran.
 */
export function shareFairly(pool: Pool, turns: CompanyTurns): Pool {
  const begin = (...args: unknown[]): Promise<unknown> => {
    const turn = callers.getStore()
    const start = (): Promise<unknown> => Reflect.apply(pool.begin, pool, args)
    return turn === undefined ? start() : turns.run(turn, start)
  }
  const unsafe = (...args: unknown[]): unknown => inTurn(Reflect.apply(pool.unsafe, pool, args), turns)
  return new Proxy(pool, {
    apply: (target, self, args) => inTurn(Reflect.apply(target, self, args), turns),
    get: (target, name) => (name === 'begin' ? begin : name === 'unsafe' ? unsafe : Reflect.get(target, name)),
  })
}

/** What the driver makes of a tagged template: it starts when it is awaited, by handing itself to `handler`. */
type Query = Promise<unknown> & { handler: (query: unknown) => unknown; reject: (error: unknown) => void }

const isQuery = (made: unknown): made is Query =>
  made instanceof Promise && 'handler' in made && typeof made.handler === 'function' && 'reject' in made

/** A query that waits for its turn when it is awaited; a fragment, which never is, takes none. */
function inTurn(made: unknown, turns: CompanyTurns): unknown {
  const turn = callers.getStore()
  if (turn === undefined || !isQuery(made)) return made
  const { handler } = made
  made.handler = (query) => {
    const run = async () => {
      handler(query)
      await made.then(ignore, ignore)
    }
    turns.run(turn, run).catch(made.reject)
  }
  return made
}

const ignore = (): void => {}
