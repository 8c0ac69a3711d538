import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { operatorErrorResponses } from '../http/shapes.ts'
import { getEvent, listEvents } from './event.ts'
import { EventQuery, EventReply } from './event-shape.ts'
import { type OperatorDeps, retryEvent } from './operator.ts'
import { Success } from './shape.ts'

const config = { surface: 'operator' } as const
const tags = ['Operator']

const params = Type.Object({ id: Type.String({ description: 'Id of the event' }) })

/** What inbound could not place or process (decisions: The operator's side). */
export function eventRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/admin/v1/unroutable-events',
      {
        config,
        schema: {
          tags,
          operationId: 'listUnroutableEvents',
          summary: 'List events that no connected number wants',
          description:
            'Newest first. Each is handled when its number is connected, within seven days; `unverified` ones do not prove the secret of their number, and are checked again when it changes. `before` the last id gives the next page.',
          querystring: EventQuery,
          response: { ...operatorErrorResponses(), 200: Type.Array(EventReply) },
        },
      },
      (request) => listEvents(deps, 'unroutable', request.query),
    )

    app.get(
      '/admin/v1/unroutable-events/:id',
      {
        config,
        schema: {
          tags,
          operationId: 'getUnroutableEvent',
          summary: 'Get an event that no connected number wants',
          description: 'With its whole body.',
          params,
          response: { ...operatorErrorResponses({ 404: 'message' }), 200: EventReply },
        },
      },
      (request) => getEvent(deps, 'unroutable', request.params.id),
    )

    app.get(
      '/admin/v1/failed-events',
      {
        config,
        schema: {
          tags,
          operationId: 'listFailedEvents',
          summary: 'List events that could not be read or processed',
          description: 'Newest first, each with its reason, for seven days. `before` the last id gives the next page.',
          querystring: EventQuery,
          response: { ...operatorErrorResponses(), 200: Type.Array(EventReply) },
        },
      },
      (request) => listEvents(deps, 'failed', request.query),
    )

    app.get(
      '/admin/v1/failed-events/:id',
      {
        config,
        schema: {
          tags,
          operationId: 'getFailedEvent',
          summary: 'Get an event that could not be read or processed',
          description: 'With its whole body.',
          params,
          response: { ...operatorErrorResponses({ 404: 'message' }), 200: EventReply },
        },
      },
      (request) => getEvent(deps, 'failed', request.params.id),
    )

    app.post(
      '/admin/v1/failed-events/:id/retry',
      {
        config,
        schema: {
          tags,
          operationId: 'retryFailedEvent',
          summary: 'Process a failed event once more',
          description: 'It leaves the list at once, and comes back to it under a new id if it fails again.',
          params,
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
