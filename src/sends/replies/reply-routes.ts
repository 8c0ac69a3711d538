import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ChatId } from '../../conversations/conversation-reply.ts'
import { getConversation } from '../../conversations/conversation-store.ts'
import { withTimeout } from '../../http/server/answers/answers.ts'
import { sendFailed } from '../../platform/errors.ts'
import type { ScheduleDeps } from '../scheduled/scheduled-message.ts'
import { answerScheduled } from '../scheduled/scheduled-routes.ts'
import { ScheduledReplyShape } from '../scheduled/scheduled-shape.ts'
import { REPLY_PERMISSIONS, type SendDeps } from '../send.ts'
import { sendFaults, toSend } from '../send-request.ts'
import { answerSend, isImmediate, recoverSend, SEND_ERRORS, SendReplyShape } from '../send-routes.ts'
import { ContentBody } from '../send-shape.ts'

/** Registers sends within a conversation, to its recipient and from its sender. */
export function replyRoutes(deps: SendDeps & ScheduleDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/public/v1/whatsapp/conversations/:chatId/messages',
      {
        config: {
          permissions: REPLY_PERMISSIONS,
          roles: ['agent'],
          errors: SEND_ERRORS,
          valueFaults: sendFaults,
          onFailure: sendFailed,
          waitsForOthers: true,
          reservesKey: isImmediate,
          recoverAnswer: (companyId, messageId) => recoverSend(deps.db, companyId, messageId),
        },
        schema: {
          tags: ['Conversations'],
          operationId: 'sendMessage',
          summary: 'Reply in a conversation',
          description:
            "Sends to the conversation's customer from its number, by the rules of `sendWhatsAppMessage`. Groups return 400. With `sendAt`, the message goes to the customer's address at that time.",
          params: ChatId,
          body: ContentBody,
          response: { 200: SendReplyShape, 202: ScheduledReplyShape },
        },
      },
      async (request, reply) => {
        const { caller, params, body } = request
        const conversation = await withTimeout(getConversation(deps.db, caller.companyId, params.chatId))
        const send = toSend(conversation, body)
        if (body.sendAt === undefined) return answerSend(deps, request, send)
        return answerScheduled(deps, request, reply, { request: send, body, sendAt: new Date(body.sendAt) })
      },
    )
  }
}
