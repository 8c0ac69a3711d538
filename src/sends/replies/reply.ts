import type { Conversation } from '../../conversations/list/conversation-list-store.ts'
import { badRequest } from '../../platform/errors.ts'
import { directSendOf } from '../content/direct-send-shape.ts'
import { CONTACT_SOURCE, parseContent, type SendRequest } from '../send-request.ts'
import type { ContentBody } from '../send-shape.ts'

/** Builds a send to a conversation's customer; 400 `bad_request` without recipient, else errors as `parseContent`. */
export function toSend(conversation: Conversation, body: ContentBody): SendRequest {
  const recipient = recipientOf(conversation)
  if (recipient === undefined)
    throw badRequest('The conversation has no recipient: it is of a group or has no customer')
  return {
    recipient,
    content: parseContent(body),
    sender: { id: conversation.senderId },
    conversationId: conversation.id,
    contactSource: CONTACT_SOURCE,
    quoted: body.quoted,
    directSend: directSendOf(body),
  }
}

const recipientOf = ({ phone, userId }: Conversation): string | undefined => phone ?? userId ?? undefined
