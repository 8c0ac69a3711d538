import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { onBehalfOf, type RequireOpen } from '../../db/pool/fair-pool.ts'

/**
 * Makes the handlers of the API-key surface that are registered afterwards wait for a slot of their company at the pool. A
 * handler whose caller has been answered, or has hung up, starts no more statements; one that may take long ends what it
 * began. A request that was admitted before its company was closed, and whose body came later, is refused.
 */
export function actForCompanies(app: FastifyInstance, requireOpen: RequireOpen): void {
  app.addHook('onRoute', (route) => {
    const { surface = 'api-key', takesLong = false } = route.config ?? {}
    if (surface !== 'api-key') return
    const { handler } = route
    route.handler = function (request, reply) {
      const { companyId } = request.caller
      const isAwaited = takesLong ? () => true : untilAnswered(reply.raw)
      const handle = () =>
        onBehalfOf({ companyId, isHeavy: takesLong, isAwaited }, () => handler.call(this, request, reply))
      const opened = requireOpen(companyId)
      return opened === undefined ? handle() : opened.then(handle)
    }
  })
}

/**
 * Whether somebody still waits for a response. A connection that is opened during a request keeps the request's context for as
 * long as it is open: hence the response alone, and neither request nor body.
 */
const untilAnswered = (response: ServerResponse) => (): boolean => !response.writableEnded && !response.destroyed
