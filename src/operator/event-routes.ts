import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { operatorErrorResponses } from '../http/shapes.ts'
import { listSetAside } from '../inbound/item-store.ts'
import { EventReply, toEventReply } from './event-shape.ts'
import { type OperatorDeps, retryEvent } from './operator.ts'
import { Success } from './shape.ts'

const config = { surface: 'operator' } as const
const tags = ['Operator']

/** What inbound could not place or process (decisions: The operator's side). */
export function eventRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/admin/v1/unroutable-events',
      {
        config,
        schema: {
          tags,
          summary: 'List events that no connected number wants',
          description: 'Newest first, at most 100. Each is taken up when its number is connected, within seven days.',
          response: { ...operatorErrorResponses(), 200: Type.Array(EventReply) },
        },
      },
      async () => (await listSetAside(deps.db, ['unroutable'])).map(toEventReply),
    )

    app.get(
      '/admin/v1/failed-events',
      {
        config,
        schema: {
          tags,
          summary: 'List events that could not be read or processed',
          description: 'Newest first, at most 100, each with its reason.',
          response: { ...operatorErrorResponses(), 200: Type.Array(EventReply) },
        },
      },
      async () => (await listSetAside(deps.db, ['failed', 'unreadable'])).map(toEventReply),
    )

    app.post(
      '/admin/v1/failed-events/:id/retry',
      {
        config,
        schema: {
          tags,
          summary: 'Process a failed event once more',
          description: 'It leaves the list at once, and comes back to it under a new id if it fails again.',
          params: Type.Object({ id: Type.String({ description: 'Id of the event' }) }),
          response: { ...operatorErrorResponses({ 404: 'message' }), 200: Success },
        },
      },
      async (request) => {
        await retryEvent(deps, request.params.id)
        return { success: true as const }
      },
    )
  }
}
