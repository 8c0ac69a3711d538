import type { FastifyInstance, HTTPMethods, RouteHandlerMethod } from 'fastify'
import type { Db } from '../../db/connect.ts'
import { isContention, isSchemaChanged } from '../../db/pool/failure.ts'
import { createUnorderedList, type UnorderedItem } from '../../fair/unordered-list.ts'
import { serviceUnavailable } from '../../platform/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route waits for others than the database, and bounds its waits itself. */
    waitsForOthers?: boolean
    /** The route may take long, as long as the database answers at all. */
    takesLong?: boolean
    /** The route waits for the worker of mails, which bounds that wait, and for the database. */
    waitsForWorker?: boolean
  }
}

/** Longer than any work of the service takes: a longer wait means that the database does not answer. */
const PATIENCE_MS = 3_500
/** Work that may take long: how often to look whether the database answers at all, and how long that may take. */
const LOOK_EVERY_MS = 500
const LOOK_MS = 2_500
const SWEEP_MS = 250
const RETRY_AFTER_SECONDS = 1

type Wait = UnorderedItem & { sweepsLeft: number; giveUp(): void }

/** The promises that are waited for; one timer checks them all. */
const waits = createUnorderedList<Wait>()
setInterval(sweep, SWEEP_MS).unref()

/**
 * The result of work on the database, or 503 when it has not come within the deadline: a database that is stopped, or whose machine
 * is gone, never answers. A late result is passed to `onLate`.
 */
export function withTimeout<T>(
  work: Promise<T>,
  onLate: (result: T) => unknown = () => {},
  patienceMs: number = PATIENCE_MS,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(serviceUnavailable('The database does not answer: try again soon', RETRY_AFTER_SECONDS))
    const wait: Wait = { sweepsLeft: Math.ceil(patienceMs / SWEEP_MS), giveUp }
    waits.add(wait)
    const finish = (result: T) => (waits.delete(wait) ? resolve(result) : onLate(result))
    work.then(finish, (error) => waits.delete(wait) && reject(error))
  })
}

/**
 * The result of work that may take long, or 503 once the database answers no session: a database that is away, but
 * not silent, fails the work by itself.
 */
export function withHeartbeat<T>(db: Db, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const wait: Wait = { sweepsLeft: 0, giveUp: () => void look() }
    const watch = () => {
      wait.sweepsLeft = LOOK_EVERY_MS / SWEEP_MS
      if (!isOver) waits.add(wait)
    }
    const look = () =>
      withTimeout<unknown>(
        db`select 1`.catch(() => {}),
        undefined,
        LOOK_MS,
      ).then(watch, reject)
    watch()
    work.then(resolve, reject).finally(() => {
      isOver = true
      waits.delete(wait)
    })
  })
}

function sweep(): void {
  for (const wait of waits) {
    wait.sweepsLeft -= 1
    if (wait.sweepsLeft < 0 && waits.delete(wait)) wait.giveUp()
  }
}

const isRead = (method: HTTPMethods | HTTPMethods[]): boolean => [method].flat().every((one) => READS.includes(one))
const READS = ['GET', 'HEAD']

/** Runs a read a second time when another transaction or an upgrade was in its way. */
const repeatOnContention = (handler: RouteHandlerMethod): RouteHandlerMethod =>
  function (request, reply) {
    const answer: unknown = handler.call(this, request, reply)
    if (!(answer instanceof Promise)) return answer
    return answer.catch((error) => {
      if (!(isContention(error) || isSchemaChanged(error)) || reply.raw.headersSent) throw error
      return handler.call(this, request, reply)
    })
  }

/** Bounds the handlers of the routes that are registered afterwards. The time that a body takes to arrive is not counted. */
export function boundHandlers(app: FastifyInstance, db: Db): void {
  app.addHook('onRoute', (route) => {
    const { waitsForOthers, takesLong, waitsForWorker } = route.config ?? {}
    const handler = isRead(route.method) ? repeatOnContention(route.handler) : route.handler
    route.handler = handler
    const hasHeartbeat = takesLong || waitsForWorker
    if (waitsForOthers) return
    const bound = hasHeartbeat ? (answer: Promise<unknown>) => withHeartbeat(db, answer) : withTimeout<unknown>
    route.handler = function (request, reply) {
      const answer: unknown = handler.call(this, request, reply)
      // A handler that promises nothing has answered already, and waited for nothing.
      return answer instanceof Promise ? bound(answer) : answer
    }
  })
}
