import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { completeKey } from '../../http/idempotency/idempotency.ts'
import { pathId, Success } from '../../http/shapes.ts'
import { type OperatorDeps, retryEvent } from '../operator.ts'
import { getEvent, listEvents, type RetriedList, type RetryBody, retryEvents } from './event.ts'
import { EventQuery, EventReply, FailedRetryBody, Retried, UnroutableRetryBody } from './event-shape.ts'

const params = Type.Object({ id: pathId('EventId', 'Event id.') })

const LISTS = [
  {
    list: 'unroutable',
    listed: {
      operationId: 'listUnroutableEvents',
      summary: 'List unroutable events',
      description:
        "Newest first. An event is handled if its number is connected within 30 days. `unverified` events don't prove their number's secret and are checked again when it changes.",
    },
    one: { operationId: 'getUnroutableEvent', summary: 'Get an unroutable event' },
  },
  {
    list: 'failed',
    listed: {
      operationId: 'listFailedEvents',
      summary: 'List failed events',
      description: 'Newest first, each with its reason. Kept for 30 days.',
    },
    one: { operationId: 'getFailedEvent', summary: 'Get a failed event' },
  },
] as const

export function eventRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  const retryList = async (list: RetriedList, filter: RetryBody, request: FastifyRequest, reply: FastifyReply) => {
    const answer = { success: true as const, count: await retryEvents(deps, list, filter) }
    await completeKey(deps.db, request, reply, 200, answer)
    return answer
  }
  return async (app) => {
    for (const { list, listed, one } of LISTS) {
      app.get(
        `/admin/v1/${list}-events`,
        {
          config: { errors: ['validation_error'] },
          schema: {
            ...listed,
            querystring: EventQuery,
            response: { 200: Type.Array(EventReply, { description: 'One page of events.' }) },
          },
        },
        ({ query }) => listEvents(deps, list, query),
      )

      const description = 'Returns the event with its whole body.'
      app.get(
        `/admin/v1/${list}-events/:id`,
        { schema: { ...one, description, params, response: { 200: EventReply } } },
        (request) => getEvent(deps, list, request.params.id),
      )
    }

    app.post(
      '/admin/v1/failed-events/retry',
      {
        schema: {
          operationId: 'retryFailedEvents',
          summary: 'Retry failed events',
          description:
            'Processes the events that match all filter members, each once. They leave the list, and return under new ids if they fail again.',
          body: FailedRetryBody,
          response: { 200: Retried },
        },
      },
      (request, reply) => retryList('failed', request.body, request, reply),
    )

    app.post(
      '/admin/v1/unroutable-events/retry',
      {
        schema: {
          operationId: 'retryUnroutableEvents',
          summary: 'Retry unroutable events',
          description:
            'Processes the events that match all filter members, each once, if their number is now connected and they prove its secret. The others stay in the list.',
          body: UnroutableRetryBody,
          response: { 200: Retried },
        },
      },
      (request, reply) => retryList('unroutable', request.body, request, reply),
    )

    app.post(
      '/admin/v1/failed-events/:id/retry',
      {
        schema: {
          operationId: 'retryFailedEvent',
          summary: 'Retry a failed event',
          description: 'The event leaves the list at once, and returns under a new id if it fails again.',
          params,
          response: { 200: Success },
        },
      },
      async (request, reply) => {
        const answer = { success: true as const }
        await retryEvent(deps, request.params.id, (tx) => completeKey(tx, request, reply, 200, answer))
        return answer
      },
    )
  }
}
