import type { FastifyInstance } from 'fastify'
import { serviceUnavailable } from '../errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route waits for others than the database, and bounds that itself. */
    waitsForOthers?: boolean
  }
}

/** Longer than any of our own work takes: who waits for so long waits for a database that does not answer. */
const PATIENCE_MS = 3_500
const SWEEP_MS = 250

/** What is waited for, oldest first: all have the same patience, and one timer looks after them. */
const waits = new Set<{ sweepsLeft: number; giveUp(): void }>()
setInterval(sweep, SWEEP_MS).unref()

/**
 * The result of work on the database, or 503 when it has not come in time: a database that is stopped, or whose machine
 * is gone, refuses nothing, it is merely silent. What comes later is handed to `onLate`.
 */
export function inTime<T>(work: Promise<T>, onLate: (result: T) => unknown = () => {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(serviceUnavailable('The database does not answer: try again soon'))
    const wait = { sweepsLeft: Math.ceil(PATIENCE_MS / SWEEP_MS), giveUp }
    waits.add(wait)
    const settle = (result: T) => (waits.delete(wait) ? resolve(result) : onLate(result))
    work.then(settle, (error) => waits.delete(wait) && reject(error))
  })
}

function sweep(): void {
  for (const wait of waits) {
    wait.sweepsLeft -= 1
    if (wait.sweepsLeft < 0 && waits.delete(wait)) wait.giveUp()
  }
}

/** Bounds the handlers of the routes that are registered afterwards. The time that a body takes to arrive is not counted. */
export function boundHandlers(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { handler } = route
    if (route.config?.waitsForOthers) return
    route.handler = function (request, reply) {
      const answer: unknown = handler.call(this, request, reply)
      // A handler that promises nothing has answered already, and waited for nothing.
      return answer instanceof Promise ? inTime(answer) : answer
    }
  })
}
