import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Db } from '../db/connect.ts'
import type { StoredAnswer } from '../http/idempotency/idempotency.ts'
import { nullableText } from '../http/shapes.ts'
import { sendFailed, sendOutcomeUnknown } from '../platform/errors.ts'
import { LONGEST_WAIT_SECONDS, PAIR_BURST, PAIR_SECONDS } from './batch/decide-sends.ts'
import { findSentMessage } from './message-store.ts'
import type { ScheduleDeps } from './scheduled/scheduled-message.ts'
import { answerScheduled } from './scheduled/scheduled-routes.ts'
import { ScheduledReplyShape } from './scheduled/scheduled-shape.ts'
import { SEND_PERMISSIONS, type SendDeps, type SendReply, sendMessage, toReply } from './send.ts'
import { checkRecipient, parseSend, refuseSend, type SendRequest, sendBodyFaults } from './send-request.ts'
import { SendBody } from './send-shape.ts'

export const SendReplyShape = Type.Object(
  {
    success: Type.Literal(true),
    data: Type.Object(
      {
        success: Type.Literal(true),
        chatId: Type.Integer({ description: 'Conversation id.' }),
        messageId: Type.Integer({ description: 'Message id.' }),
        wamid: nullableText('Message id at the provider; null if the provider reports it later.'),
      },
      {
        title: 'SentMessage',
        example: {
          success: true,
          chatId: 812,
          messageId: 90218,
          wamid: 'wamid.HBgMMzkzMzMx',
        },
      },
    ),
  },
  { title: 'SendReply', description: 'The provider accepted the message.' },
)

export const SEND_ERRORS = [
  'text 400',
  'text 500',
  'message',
  'template_not_found',
  'WHATSAPP_SENDER_NOT_FOUND',
  'no_whatsapp_account',
  'invalid_phone_number',
  'template_not_approved',
  'parameter_mismatch',
  'recipient_not_on_whatsapp',
  'session_window_closed',
  'send_outcome_unknown',
] as const

/** Registers POST templates/whatsapp/send (spec: WhatsApp). */
export function sendRoutes(deps: SendDeps & ScheduleDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/public/v1/templates/whatsapp/send',
      {
        config: {
          permissions: SEND_PERMISSIONS,
          roles: ['agent'],
          errors: SEND_ERRORS,
          valueFaults: sendBodyFaults,
          onInvalid: refuseSend,
          onFailure: sendFailed,
          waitsForOthers: true,
          reservesKey: isImmediate,
          recoverAnswer: (companyId, messageId) => recoverSend(deps.db, companyId, messageId),
        },
        schema: {
          tags: ['WhatsApp'],
          operationId: 'sendWhatsAppMessage',
          summary: 'Send a WhatsApp message',
          description: SEND_DESCRIPTION,
          body: SendBody,
          response: {
            200: SendReplyShape,
            202: ScheduledReplyShape,
          },
        },
      },
      async (request, reply) => {
        const { body } = request
        if (body.sendAt === undefined) return handleSend(deps, request, body)
        const send = parseSend(body)
        await checkRecipient(deps.db, request.caller.companyId, body.recipient)
        return answerScheduled(deps, request, reply, { request: send, body, sendAt: new Date(body.sendAt) })
      },
    )
  }
}

/** Handles a send; stores the answer for an Idempotency-Key with the message. */
export async function handleSend(
  deps: SendDeps & { db: Db },
  request: FastifyRequest,
  body: Static<typeof SendBody>,
): Promise<SendReply> {
  const send = parseSend(body)
  await checkRecipient(deps.db, request.caller.companyId, body.recipient)
  return answerSend(deps, request, send)
}

export function answerSend(deps: SendDeps, request: FastifyRequest, send: SendRequest): Promise<SendReply> {
  const { companyId, keyName } = request.caller
  return sendMessage(deps, { companyId, keyName, key: request.keyToReserve ?? null, scheduledId: null }, send)
}

/** Immediate sends reserve the Idempotency-Key with their message. */
export const isImmediate = ({ body }: FastifyRequest): boolean =>
  typeof body !== 'object' || body === null || !('sendAt' in body) || body.sendAt === undefined

const SEND_DESCRIPTION = `Sends a text, template, file, interactive message, location, contacts or reaction, as set in \`type\`.

UTILITY and AUTHENTICATION templates can be sent at any time. Everything else needs an open 24-hour window: the customer
must have written to this sender less than 24 hours ago. A new recipient becomes a contact.

\`success\` means the provider accepted the message. The conversation's messages show its later status. After
503 \`service_unavailable\` nothing was sent and the request can be repeated; after 503 \`send_outcome_unknown\` the message
may have been sent, and only its status will show it. With an \`Idempotency-Key\` a repeated request never sends twice.

Parley keeps to the provider's throughput: a rate per second for each sender (80 by default), and to one customer
${PAIR_BURST} messages at once, then one every ${PAIR_SECONDS} seconds. A message waits for a slot at most ${LONGEST_WAIT_SECONDS} seconds away.
Otherwise the answer is 429 with \`retry_after\`, and nothing is written.

With \`sendAt\` the answer is 202: the message is stored and sent at that time, even if processes stop or restart. Until then it
can be cancelled with \`cancelScheduledMessage\`.`

/** Returns the answer for a repeated request whose first run died before replying. */
export async function recoverSend(db: Db, companyId: number, messageId: number): Promise<StoredAnswer> {
  const message = await findSentMessage(db, companyId, messageId)
  // Taken by the provider counts as accepted, even if failed since.
  if (message === undefined || (message.status === 'failed' && !message.isTaken)) return sendFailed()
  if (!message.isTaken) return sendOutcomeUnknown()
  return { status: 200, body: toReply({ ...message, messageId: message.id }, message.wamid) }
}
