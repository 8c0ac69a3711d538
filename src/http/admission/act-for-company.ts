import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { onBehalfOf, type RequireUnlocked } from '../../db/pool/fair-pool.ts'

/**
 * Makes the handlers of the API-key surface that are registered afterwards wait for a slot of their company at the pool. A
 * handler whose caller has been answered, or has hung up, starts no more statements; one that may take long ends what it
 * began. A request that was admitted before its company was locked, and whose body came later, is refused.
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

/**
 * Whether the client is still waiting for its response. This becomes part of the request's asynchronous context, which a
 * connection opened meanwhile keeps until it closes, so it refers to the response and not to the request with its body.
 */
const untilAnswered = (response: ServerResponse) => (): boolean => !response.writableEnded && !response.destroyed
