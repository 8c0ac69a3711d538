import type { MessageContext } from '../../../conversations/content/message-context.ts'
import type { StructuredContent } from '../../../conversations/content/structured-content.ts'
import type { CallItem, MessageDetails, MessageItem } from '../../../providers/events/event-item.ts'
import { cleanJson, isObject } from '../../../providers/events/json-member.ts'

/** Returns message members other than type, text and media. */
export const toStated = (item: MessageItem | CallItem) => ({
  messageKind: kindOf(item),
  content: toContent(item.details),
  context: toContext(item.details),
  error: item.error,
})

export const NOTHING_STATED = { messageKind: null, content: null, context: null, error: null }

const kindOf = ({ type, providerType, recordType }: MessageItem | CallItem): string | null => {
  const kind = providerType === 'sticker' ? providerType : type
  return kind === recordType ? null : kind
}

function toContent({ reply, location, contacts, order, call }: MessageDetails): StructuredContent | null {
  if (call !== null) return { type: 'call', call }
  if (reply !== null) return { type: 'reply', reply }
  if (location !== null) return { type: 'location', location: cleanJson(location) }
  if (order !== null) return { type: 'order', order: cleanJson(order) }
  return contacts === null ? null : { type: 'contacts', contacts: cleanJson(contacts).filter(isObject) }
}

function toContext(details: MessageDetails): MessageContext | null {
  const { referral, forwarded, frequentlyForwarded, referredProduct } = details
  const context: MessageContext = {
    ...(referral !== null && { referral: cleanJson(referral) }),
    ...(forwarded && { forwarded }),
    ...(frequentlyForwarded && { frequentlyForwarded }),
    ...(referredProduct !== null && { referredProduct: cleanJson(referredProduct) }),
  }
  return Object.keys(context).length === 0 ? null : context
}
