import type { FastifyInstance, FastifyReply } from 'fastify'
import { onBehalfOf } from '../db/fair-pool.ts'

/**
 * Makes the handlers of the API-key surface that are registered afterwards wait for a slot of their company at the pool. A
 * handler whose caller has been answered, or has hung up, starts no more statements; one that may take long ends what it
 * began.
 */
export function actForCompanies(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { surface = 'api-key', takesLong = false } = route.config ?? {}
    if (surface !== 'api-key') return
    const { handler } = route
    route.handler = function (request, reply) {
      const isWanted = () => takesLong || isAwaited(reply)
      const slot = { companyId: request.caller.companyId, isHeavy: takesLong, isWanted }
      return onBehalfOf(slot, () => handler.call(this, request, reply))
    }
  })
}

const isAwaited = (reply: FastifyReply): boolean => !reply.sent && !reply.raw.destroyed
