import type { FastifyInstance, HTTPMethods, RouteHandlerMethod } from 'fastify'
import type { Db } from '../../db/connect.ts'
import { isContention, isSchemaChanged } from '../../db/pool/failure.ts'
import { serviceUnavailable } from '../../platform/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Waits for something other than the database, and bounds that wait itself. */
    waitsForOthers?: boolean
    /** May take long, while the database responds. */
    takesLong?: boolean
    /** Waits for the mail worker, which bounds that wait, and for the database. */
    waitsForWorker?: boolean
  }
}

/** Longer than any database work should take. */
const PATIENCE_MS = 3_500
/** For long work: probe interval, and probe timeout. */
const LOOK_EVERY_MS = 500
const LOOK_MS = 2_500
const SWEEP_MS = 250
const RETRY_AFTER_SECONDS = 1

type Wait = { sweepsLeft: number; giveUp(): void }

/** An old `Set` makes its short-lived entries old, too (docs/decisions/0005-a-driver-of-our-own.md). */
const waits: Wait[] = []
setInterval(sweep, SWEEP_MS).unref()

/** Throws 503 after the deadline, because a stopped database may never answer. Passes late results to `onLate`. */
export function withTimeout<T>(
  work: Promise<T>,
  onLate: (result: T) => unknown = () => {},
  patienceMs: number = PATIENCE_MS,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(serviceUnavailable('The database does not answer: try again soon', RETRY_AFTER_SECONDS))
    const wait: Wait = { sweepsLeft: Math.ceil(patienceMs / SWEEP_MS), giveUp }
    waits.push(wait)
    const finish = (result: T) => (endWait(wait) ? resolve(result) : onLate(result))
    work.then(finish, (error) => endWait(wait) && reject(error))
  })
}

/** Throws 503 once the database stops responding. A closed database connection fails the work itself. */
export function withHeartbeat<T>(db: Db, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const wait: Wait = { sweepsLeft: 0, giveUp: () => void look() }
    const watch = () => {
      wait.sweepsLeft = LOOK_EVERY_MS / SWEEP_MS
      if (!isOver) waits.push(wait)
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
      endWait(wait)
    })
  })
}

/** Returns false if the wait was over already. */
function endWait(wait: Wait): boolean {
  const at = waits.lastIndexOf(wait)
  if (at >= 0) waits.splice(at, 1)
  return at >= 0
}

function sweep(): void {
  for (const wait of [...waits]) {
    wait.sweepsLeft -= 1
    if (wait.sweepsLeft < 0 && endWait(wait)) wait.giveUp()
  }
}

const isRead = (method: HTTPMethods | HTTPMethods[]): boolean => [method].flat().every((one) => READS.includes(one))
const READS = ['GET', 'HEAD']

const repeatOnContention = (handler: RouteHandlerMethod): RouteHandlerMethod =>
  function (request, reply) {
    const answer: unknown = handler.call(this, request, reply)
    if (!(answer instanceof Promise)) return answer
    return answer.catch((error) => {
      if (!(isContention(error) || isSchemaChanged(error)) || reply.raw.headersSent) throw error
      return handler.call(this, request, reply)
    })
  }

/** Adds deadlines to handlers registered afterwards. Body upload time is not counted. */
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
      return answer instanceof Promise ? bound(answer) : answer
    }
  })
}
