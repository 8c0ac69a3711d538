import { type ListedConversation, listConversationsFrom } from '../../conversations/list/conversation-list-store.ts'
import type { Db } from '../../db/connect.ts'
import { type EmailRecord, listEmailsTo } from '../../emails/email-store.ts'
import { decodeCursor, encodeCursor, isMicroseconds } from '../../http/paging/cursor.ts'
import { unknownCursor } from '../../http/paging/paging.ts'
import type { Contact } from '../../people/contact-record.ts'
import { emailKey } from '../../platform/text/email-address.ts'

const ORDER = 'activity'

/** Page position: conversation activity (microseconds since 1970) with its id, and email id. */
type TimelinePlace = { readonly activityUs: number; readonly chatId: number; readonly emailId: number }

const BEGINNING: TimelinePlace = {
  activityUs: 7_000_000_000_000_000,
  chatId: Number.MAX_SAFE_INTEGER,
  emailId: Number.MAX_SAFE_INTEGER,
}

export type Activity =
  | { readonly at: Date; readonly conversation: ListedConversation }
  | { readonly at: Date; readonly email: EmailRecord & { readonly id: number } }

type ActivityRequest = {
  readonly before: string | undefined
  readonly limit: number
  readonly hasConversations: boolean
  readonly hasEmails: boolean
}

/** Merges a contact's conversations by last activity and emails, newest first; each side reads an index range. */
export async function readActivity(
  db: Db,
  companyId: number,
  { id, email }: Pick<Contact, 'id' | 'email'>,
  { before, limit, hasConversations, hasEmails }: ActivityRequest,
): Promise<{ items: Activity[]; nextBefore: string | null }> {
  const place = before === undefined ? BEGINNING : parsePlace(before)
  const cursor = { side: 'before', at: { activityUs: place.activityUs, id: place.chatId } } as const
  const matches = { contacts: [{ id, starts: false }], conversations: [] }
  const conversations = hasConversations
    ? await listConversationsFrom(db, companyId, cursor, limit + 1, { matches })
    : []
  const emails =
    hasEmails && email !== null ? await listEmailsTo(db, companyId, emailKey(email), place.emailId, limit + 1) : []
  const { items, next } = merge(conversations, emails, place, limit)
  const hasMore = conversations.length + emails.length > items.length
  return { items, nextBefore: hasMore ? toCursor(next) : null }
}

function merge(
  conversations: readonly ListedConversation[],
  emails: readonly (EmailRecord & { id: number })[],
  from: TimelinePlace,
  limit: number,
): { items: Activity[]; next: TimelinePlace } {
  const items: Activity[] = []
  let next = from
  let [conversationAt, emailAt] = [0, 0]
  while (items.length < limit) {
    const [conversation, email] = [conversations[conversationAt], emails[emailAt]]
    if (conversation && (!email || conversation.activityUs >= email.createdAt.getTime() * 1_000)) {
      items.push({ at: new Date(conversation.activityUs / 1_000), conversation })
      next = { ...next, activityUs: conversation.activityUs, chatId: conversation.id }
      conversationAt += 1
    } else if (email) {
      items.push({ at: email.createdAt, email })
      next = { ...next, emailId: email.id }
      emailAt += 1
    } else break
  }
  return { items, next }
}

const toCursor = ({ activityUs, chatId, emailId }: TimelinePlace): string =>
  encodeCursor(ORDER, { value: [activityUs, chatId], id: emailId })

function parsePlace(text: string): TimelinePlace {
  const position = decodeCursor(text, ORDER, isPair)
  if (position === undefined) throw unknownCursor('before')
  const [activityUs, chatId] = position.value
  return { activityUs, chatId, emailId: position.id }
}

const isPair = (value: unknown): value is [number, number] =>
  Array.isArray(value) && value.length === 2 && isMicroseconds(value[0]) && Number.isSafeInteger(value[1])
