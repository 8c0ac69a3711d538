import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { onBehalfOf, type RequireUnlocked } from '../../db/pool/fair-pool.ts'

/**
 * Runs API-key handlers registered afterwards in a database slot of their company. Once the client is answered or gone,
 * the handler starts no more statements, unless it `takesLong`. Rejects requests admitted before a lock.
 */
export function actForCompanies(app: FastifyInstance, requireUnlocked: RequireUnlocked): void {
  app.addHook('onRoute', (route) => {
    const { surface = 'api-key', takesLong = false } = route.config ?? {}
    if (surface !== 'api-key') return
    const { handler } = route
    route.handler = function (request, reply) {
      const { companyId } = request.caller
      const isAwaited = takesLong ? () => true : untilAnswered(reply.raw)
      const handle = () =>
        onBehalfOf({ companyId, isHeavy: takesLong, isAwaited }, () => handler.call(this, request, reply))
      const unlocked = requireUnlocked(companyId)
      return unlocked === undefined ? handle() : unlocked.then(handle)
    }
  })
}

/** Must not retain the request and its body: connections opened meanwhile keep this async context. */
const untilAnswered = (response: ServerResponse) => (): boolean => !response.writableEnded && !response.destroyed
