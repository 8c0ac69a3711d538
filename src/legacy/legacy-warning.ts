import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { replacementOf, successorHeaders } from './legacy-rule.ts'

export const Warning = Type.Object(
  {
    message: Type.String(),
    deprecationDate: Type.String({ description: 'When this address ends' }),
    migrateTo: Type.String({ description: 'What to use instead' }),
    docsUrl: Type.String(),
  },
  { description: 'This address ends' },
)

/**
 * Every answer of these routes says in its headers that they end, and the good ones that are objects in a `warning`,
 * too. Put in when the answer goes out, so that a repeated one carries it as well.
 */
export function warnOfEnd(app: FastifyInstance, deps: { removalDate: Date; baseUrl: string }): void {
  const deprecationDate = deps.removalDate.toISOString().slice(0, 10)
  app.addHook('onSend', async (request, reply, payload) => {
    const migrateTo = replacementOf(request.method, request.routeOptions.url ?? '')
    reply.headers(successorHeaders(deps.removalDate, migrateTo))
    if (reply.statusCode >= 300 || typeof payload !== 'string' || !payload.startsWith('{')) return payload
    const warning = {
      message: `This address is deprecated and ends on ${deprecationDate}: use ${migrateTo}`,
      deprecationDate,
      migrateTo,
      docsUrl: `${deps.baseUrl}/docs`,
    }
    return JSON.stringify({ ...JSON.parse(payload), warning })
  })
}
