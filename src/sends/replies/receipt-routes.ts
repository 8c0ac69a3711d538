import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ChatId } from '../../conversations/conversation-reply.ts'
import { getConversation } from '../../conversations/conversation-store.ts'
import { completeKey } from '../../http/idempotency/idempotency.ts'
import { withTimeout } from '../../http/server/answers/answers.ts'
import { Success } from '../../http/shapes.ts'
import { sendFailed } from '../../platform/errors.ts'
import { markConversationRead, type ReceiptDeps, showTyping } from './receipt.ts'

const DONE = { success: true } as const
const config = {
  permissions: ['WhatsApp'],
  roles: ['agent'],
  errors: ['text 400', 'text 500', 'WHATSAPP_SENDER_NOT_FOUND'],
  onFailure: sendFailed,
  waitsForOthers: true,
} as const

export function receiptRoutes(deps: ReceiptDeps): FastifyPluginAsyncTypebox {
  const answer = async (request: FastifyRequest, reply: FastifyReply, chatId: string, show: typeof showTyping) => {
    const { companyId } = request.caller
    await show(deps, companyId, await withTimeout(getConversation(deps.db, companyId, chatId)))
    await completeKey(deps.db, request, reply, 200, DONE)
    return DONE
  }
  return async (app) => {
    app.post(
      '/public/v1/whatsapp/conversations/:chatId/read',
      {
        config,
        schema: {
          tags: ['Conversations'],
          operationId: 'markConversationRead',
          summary: 'Mark messages as read',
          description:
            'The customer sees two blue ticks on all messages so far, and `unreadMessages` becomes 0. Nothing is sent if the customer never wrote.',
          params: ChatId,
          response: { 200: Success },
        },
      },
      (request, reply) => answer(request, reply, request.params.chatId, markConversationRead),
    )

    app.post(
      '/public/v1/whatsapp/conversations/:chatId/typing',
      {
        config: { ...config, errors: [...config.errors, 'session_window_closed'] },
        schema: {
          tags: ['Conversations'],
          operationId: 'showTyping',
          summary: 'Show a typing indicator',
          description:
            "Shown to the customer for 25 seconds or until a message arrives. The provider also marks the customer's messages as read. Returns 422 `session_window_closed` if the customer never wrote.",
          params: ChatId,
          response: { 200: Success },
        },
      },
      (request, reply) => answer(request, reply, request.params.chatId, showTyping),
    )
  }
}
