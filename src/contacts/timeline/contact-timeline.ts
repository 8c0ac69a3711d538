import { type ListedConversation, listConversationsFrom } from '../../conversations/list/conversation-list-store.ts'
import type { Db } from '../../db/connect.ts'
import { type EmailRecord, listEmailsTo } from '../../emails/email-store.ts'
import { decodeCursor, encodeCursor, isMicroseconds } from '../../http/paging/cursor.ts'
import { unknownCursor } from '../../http/paging/paging.ts'
import type { Channel, Contact } from '../../people/contact-record.ts'
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

export const HISTORY_MAX = 100

export type ConsentHistoryEntry = {
  id: number
  channel: Channel
  value: boolean
  source: string
  keyName: string | null
  saidAt: Date
  firstSaidAt: Date | null
  ip: string | null
}

/** Returns entries by a living contact or its current identities, also hashed by an erasure, newest first. */
export async function readConsentHistory(db: Db, companyId: number, contactId: number): Promise<ConsentHistoryEntry[]> {
  return db<ConsentHistoryEntry[]>`
    with contact as materialized (
      select email_key, phone_identity
      from contacts
      where (company_id, id) = (${companyId}, ${contactId}) and deleted_at is null
    ),
    name as materialized (
      select 'mailto:' || contact.email_key as identity from contact where contact.email_key is not null
      union
      select contact.phone_identity from contact where contact.phone_identity is not null
      union
      select identity.identity
      from customers customer
      cross join lateral (
        select existing.identity
        from customer_identities existing
        where (existing.company_id, existing.customer_id) = (${companyId}, customer.id) and existing.left_at is null
      ) as identity
      where (customer.company_id, customer.contact_id) = (${companyId}, ${contactId})
    ),
    entry as (
      select said.*
      from name
      cross join unnest(array[name.identity, keyed_hash(${companyId}, name.identity)]) as form (identity)
      cross join unnest(array['email', 'whatsapp']) as channel (name)
      cross join lateral (
        select consents.*
        from consents
        where (consents.company_id, consents.identity, consents.channel) = (${companyId}, form.identity, channel.name)
        order by consents.said_at desc, consents.id desc
        limit ${HISTORY_MAX}
      ) as said
      union
      select said.*
      from unnest(array['email', 'whatsapp']) as channel (name)
      cross join lateral (
        select consents.*
        from consents
        where (consents.company_id, consents.contact_id, consents.channel) = (${companyId}, ${contactId}, channel.name)
        order by consents.said_at desc, consents.id desc
        limit ${HISTORY_MAX}
      ) as said
    )
    select
      entry.id, entry.channel, entry.value, entry.source, entry.said_at, entry.first_said_at, entry.ip,
      coalesce(
        (
          select key.name from api_keys key
          where (key.company_id, key.client_id) = (${companyId}, entry.client_id)
          limit 1
        ),
        (
          select session.name from console_sessions session
          where session.company_id = ${companyId} and entry.client_id = 'console:' || session.id
          limit 1
        )
      ) as key_name
    from entry
    order by entry.said_at desc, entry.id desc
    limit ${HISTORY_MAX}
  `
}
