import type { RecordChange } from '../../../changes/record-change.ts'
import type { MessageContext, StructuredContent } from '../../../conversations/content/message-content.ts'
import type { MessageChange } from '../../../conversations/recording/waiting-store.ts'
import { areValuesRefused } from '../../../db/pool/failure.ts'
import { isRecord } from '../../../platform/text/json-text.ts'
import { phoneIdentity } from '../../../platform/text/phone.ts'
import type {
  CallItem,
  ChangeItem,
  EventCustomer,
  MessageDetails,
  MessageItem,
  Placed,
} from '../../../providers/events/event-item.ts'
import { cleanJson } from '../../../providers/events/event-reader.ts'
import { conversationPerson } from '../../../webhooks/deliveries/delivery-store.ts'
import {
  buildEnvelope,
  type Forwardable,
  type Forwarded,
  isForwardable,
} from '../../../webhooks/events/message-received.ts'
import type { Conversing, Renaming, Routed, WrittenItem } from '../route-items.ts'
import { eventTime, type IdentityEvent, type InboundRecord } from './decide-inbound.ts'

/** Builds a message edit or revoke. */
export const toChange = ({ item, sender, receivedAt }: Routed<ChangeItem>): MessageChange => ({
  companyId: sender.companyId,
  senderId: sender.id,
  direction: item.isEcho ? 'outbound' : 'inbound',
  writers: writerIdentities(item.customer),
  shownWriter: shownIdentityOf(item.customer),
  wamid: item.wamid,
  targetWamid: item.originalWamid,
  kind: item.change,
  text: item.newText,
  occurredAt: timeOf({ item, receivedAt }),
  arrivedAt: receivedAt,
})

/** Builds a message or reaction record; undefined without a customer. */
export function toRecord({ item, sender, receivedAt }: WrittenItem): InboundRecord | undefined {
  const { phone, userId, profileName } = item.customer
  const { groupId, isEcho } = item
  if (!namesCustomer(item)) return undefined
  const isMessage = item.kind !== 'reaction'
  return {
    companyId: sender.companyId,
    senderId: sender.id,
    account: sender.wabaAccountId,
    kind: item.kind === 'reaction' ? 'reaction' : isEcho ? 'echo' : 'message',
    ...{ phone, userId, groupId },
    profileName: groupId ?? (isEcho ? null : profileName),
    wamid: item.kind === 'call' ? item.callId : item.wamid,
    type: isMessage ? item.recordType : 'text',
    text: isMessage ? item.recordText : null,
    media: isMessage ? item.media : null,
    ...(isMessage ? toStated(item) : NOTHING_STATED),
    quotedWamid: isMessage ? item.quotedWamid : null,
    targetWamid: isMessage ? null : item.targetWamid,
    emoji: isMessage ? null : item.emoji,
    sentAt: toDate(item.timestamp),
    arrivedAt: receivedAt,
    opensWindow: item.opensWindow,
    senderName: isEcho ? sender.phoneName : writerOf(item),
  }
}

/** Returns whether the conversation is known. Groups have their own. */
export const namesCustomer = ({ groupId, customer }: WrittenItem['item']): boolean =>
  groupId !== null || customer.phone !== null || customer.userId !== null

/** Builds an identity event from a number or user id change. */
export function toIdentityChange({ item, sender, receivedAt }: Renaming): IdentityEvent {
  const { companyId, wabaAccountId: account } = sender
  const at = timeOf({ item, receivedAt }).getTime()
  const { previousUserIds, userId, wamid } = item
  if (item.kind === 'number-changed') {
    const change = { from: item.from, to: item.to, previousUserIds, userId, account, at }
    return { kind: 'number-change', companyId, wamid, change }
  }
  const change = {
    phone: item.customer.phone,
    previousUserIds,
    userId: item.userId,
    isMessage: wamid !== null,
    account,
    at,
  }
  return { kind: 'user-id-change', companyId, wamid, change }
}

/** Adds the phone number in groups, where the conversation lacks one. */
function writerOf({ groupId, customer }: WrittenItem['item']): string | null {
  const { profileName } = customer
  if (groupId === null) return profileName
  const identity = shownIdentityOf(customer)
  return profileName === null || identity === null ? (profileName ?? identity) : `${profileName} (${identity})`
}

const shownIdentityOf = ({ phone, userId }: EventCustomer): string | null => (phone === null ? userId : `+${phone}`)

export type PlacedItem = Conversing & { messageId: number | null; conversationId: number | null }

/** Returns the media to copy from the provider. */
export const toMedia = ({ item, sender, messageId }: PlacedItem) =>
  item.kind === 'message' && item.media?.providerMediaId && messageId !== null
    ? [{ companyId: sender.companyId, messageId }]
    : []

/** Builds the status change for an echo, which counts as sent once recorded. */
export const toEchoChange = ({ item, sender, messageId }: PlacedItem): RecordChange[] =>
  item.kind === 'message' && item.isEcho && messageId !== null
    ? [
        {
          event: 'whatsapp.message.status',
          companyId: sender.companyId,
          id: messageId,
          before: 'pending',
          after: 'sent',
          failure: null,
          isFirstSent: true,
        },
      ]
    : []

/** Builds the envelope for a new message, if receivers can get this kind. */
export function toForwarded({ item, sender, messageId, conversationId }: PlacedItem): Forwarded[] {
  if (!isForwardable(item)) return []
  const forwardable: Forwardable = item
  const body = buildEnvelope(forwardable, {
    companyId: sender.companyId,
    provider: sender.provider,
    phoneNumber: sender.phone,
    channelId: sender.id,
  })
  const { companyId, id: senderId } = sender
  const people = peopleOf(forwardable, messageId, conversationId)
  return [{ companyId, senderId, conversationId, wamid: forwardable.wamid, messageId, body, people }]
}

/** Direct messages are found by their row; group authors are not the conversation's customer. */
function peopleOf(item: Forwardable, messageId: number | null, conversationId: number | null): string[] {
  if (item.kind === 'call') return writerIdentities(item.customer)
  if (item.groupId === null && messageId !== null) return []
  if (item.groupId === null && item.kind === 'reaction' && conversationId !== null) {
    return [conversationPerson(conversationId)]
  }
  return writerIdentities(item.customer)
}

export const writerIdentities = ({ phone, userId }: Pick<EventCustomer, 'phone' | 'userId'>): string[] =>
  [phone === null ? null : phoneIdentity(phone), userId].filter((identity) => identity !== null)

type Timed = { item: Pick<Placed, 'timestamp'>; receivedAt: Date }

export const timeOf = ({ item, receivedAt }: Timed): Date => eventTime(toDate(item.timestamp), receivedAt)

/** Returns when an item happened; null if the provider reports no time. */
export function reportedTimeOf({ item, receivedAt }: Timed): Date | null {
  const reportedAt = toDate(item.timestamp)
  return reportedAt === null ? null : eventTime(reportedAt, receivedAt)
}

export const toDate = (seconds: number | null): Date | null => {
  const date = seconds === null ? null : new Date(seconds * 1000)
  return date === null || Number.isNaN(date.getTime()) ? null : date
}

/** Returns message members other than type, text and media. */
export const toStated = (item: MessageItem | CallItem) => ({
  messageKind: kindOf(item),
  content: toContent(item.details),
  context: toContext(item.details),
  error: item.error,
})

const NOTHING_STATED = { messageKind: null, content: null, context: null, error: null }

const kindOf = ({ type, providerType, recordType }: MessageItem | CallItem): string | null => {
  const kind = providerType === 'sticker' ? providerType : type
  return kind === recordType ? null : kind
}

function toContent({ reply, location, contacts, order, call }: MessageDetails): StructuredContent | null {
  if (call !== null) return { type: 'call', call }
  if (reply !== null) return { type: 'reply', reply }
  if (location !== null) return { type: 'location', location: cleanJson(location) }
  if (order !== null) return { type: 'order', order: cleanJson(order) }
  return contacts === null ? null : { type: 'contacts', contacts: cleanJson(contacts).filter(isRecord) }
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

class ItemError extends Error {}

/** Turns every error of a pure conversion into an `ItemError`, since only the item can cause it. */
export const ofItem =
  <Item, Result>(convert: (item: Item) => Result) =>
  (item: Item): Result => {
    try {
      return convert(item)
    } catch (error) {
      throw new ItemError(error instanceof Error ? error.message : 'it cannot be read', { cause: error })
    }
  }

/** Returns whether the item's data caused the error. Other items must be retried, not kept as failed. */
export const isCausedByItem = (error: unknown): boolean => error instanceof ItemError || areValuesRefused(error)
