import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { completeKey } from '../../http/idempotency/idempotency.ts'
import { beforeQuery, parseBefore } from '../../http/paging/paging.ts'
import { pathId, Success } from '../../http/shapes.ts'
import {
  cancelScheduled,
  getScheduled,
  type ScheduleDeps,
  type Scheduling,
  scheduleMessage,
} from './scheduled-message.ts'
import { ScheduledRecord, ScheduledStatuses, toScheduledRecord } from './scheduled-shape.ts'
import { listScheduled } from './scheduled-store.ts'

const LIMITS = { defaultSize: 30, maxSize: 100 }
const config = { permissions: ['WhatsApp', 'Transactional'], roles: ['agent'] } as const
const ById = Type.Object({ id: pathId('ScheduledMessageId', 'Scheduled message id.') })

/** Replies 202 with the scheduled message. */
export async function answerScheduled(
  deps: ScheduleDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  scheduling: Omit<Scheduling, 'keyName' | 'clientId'>,
) {
  const { companyId, keyName } = request.caller
  const clientId = keyOf(request)
  const toAnswer = (message: Parameters<typeof toScheduledRecord>[0]) => ({
    success: true as const,
    data: toScheduledRecord(message),
  })
  const message = await scheduleMessage(deps, companyId, { ...scheduling, keyName, clientId }, (tx, scheduled) =>
    completeKey(tx, request, reply, 202, toAnswer(scheduled)),
  )
  return reply.code(202).send(toAnswer(message))
}

function keyOf({ caller, session }: FastifyRequest): string | null {
  if (session === null) return caller.clientId
  return session.company === null ? null : session.credential
}

export function scheduledRoutes(deps: ScheduleDeps): FastifyPluginAsyncTypebox {
  const { db } = deps
  return async (app) => {
    app.get(
      '/public/v1/whatsapp/scheduled-messages',
      {
        config: { ...config, errors: ['validation_error'] },
        schema: {
          tags: ['WhatsApp'],
          operationId: 'listScheduledMessages',
          summary: 'List scheduled messages',
          description:
            'Last scheduled first. `before` is the last id of the previous page. Sent and failed messages are listed for 30 days.',
          querystring: Type.Object({
            chatId: Type.Optional(Type.Integer({ minimum: 1, description: 'The conversation.' })),
            status: Type.Optional(ScheduledStatuses),
            ...beforeQuery(LIMITS),
          }),
          response: {
            200: Type.Object({ data: Type.Array(ScheduledRecord) }, { description: 'One page of scheduled messages.' }),
          },
        },
      },
      async ({ caller, query }) => {
        const { chatId: conversationId, status } = query
        const filter = { conversationId, statuses: status?.split(','), ...parseBefore(query, LIMITS) }
        return { data: (await listScheduled(db, caller.companyId, filter)).map(toScheduledRecord) }
      },
    )

    app.get(
      '/public/v1/whatsapp/scheduled-messages/:id',
      {
        config,
        schema: {
          tags: ['WhatsApp'],
          operationId: 'getScheduledMessage',
          summary: 'Get a scheduled message',
          description: 'Returns the record as in the list.',
          params: ById,
          response: { 200: Type.Object({ data: ScheduledRecord }, { description: 'The scheduled message.' }) },
        },
      },
      async ({ caller, params }) => ({
        data: toScheduledRecord(await getScheduled(db, caller.companyId, params.id)),
      }),
    )

    app.delete(
      '/public/v1/whatsapp/scheduled-messages/:id',
      {
        config: { ...config, errors: ['already_sent'] },
        schema: {
          tags: ['WhatsApp'],
          operationId: 'cancelScheduledMessage',
          summary: 'Cancel a scheduled message',
          description:
            'Deletes a waiting or failed message. After 200, nothing is sent; a sent message returns 409 `already_sent`.',
          params: ById,
          response: { 200: Success },
        },
      },
      async ({ caller, params }) => {
        await cancelScheduled(deps, caller.companyId, params.id)
        return { success: true as const }
      },
    )
  }
}
