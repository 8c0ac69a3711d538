import type { Conversation } from '../conversations/conversation-list-store.ts'
import { badRequest } from '../errors.ts'
import { phoneIdentity } from '../text/phone.ts'
import { CONTACT_SOURCE, parseContent, type SendRequest } from './send-request.ts'
import type { ContentBody } from './send-shape.ts'

/**
 * A send to the customer of a conversation, from the number of the conversation.
 * @throws {AppError} as `parseContent`; 400 `bad_request` when the conversation has no recipient
 */
export function toSend(conversation: Conversation, body: ContentBody): SendRequest {
  const recipient = recipientOf(conversation)
  if (recipient === undefined)
    throw badRequest('The conversation has no recipient: it is of a group or has no customer')
  return {
    recipient,
    content: parseContent(body),
    sender: { id: conversation.senderId },
    contactSource: CONTACT_SOURCE,
  }
}

/** The contact's phone number as it is written, if it is the customer's; else the customer's number, else the user id. */
function recipientOf({ customer, contactPhone, userId }: Conversation): string | undefined {
  if (contactPhone !== null && phoneIdentity(contactPhone) === customer) return contactPhone
  if (/^[1-9][0-9]{6,14}$/.test(customer)) return customer
  return userId ?? undefined
}
