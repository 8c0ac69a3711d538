import type { MessageChange } from '../../conversations/message-change-store.ts'
import type { InboundRecord } from '../../conversations/record-store.ts'
import type { StatusRecord } from '../../conversations/waiting-status-store.ts'
import type {
  ChangeItem,
  Customer,
  InboundItem,
  MessageItem,
  ReactionItem,
  StatusItem,
} from '../../providers/events/event-item.ts'
import type { TemplateEvent } from '../../templates/template-event-store.ts'
import { phoneIdentity } from '../../text/phone.ts'
import { buildEnvelope, type Forwardable, isForwardable } from '../envelope.ts'
import type { Conversing, Routed, WrittenItem } from './route-items.ts'

/** The edit or revoke of a message, as its store takes it. */
export const toChange = ({ item, sender, receivedAt }: Routed<ChangeItem>): MessageChange => ({
  companyId: sender.companyId,
  senderId: sender.id,
  direction: item.isEcho ? 'outbound' : 'inbound',
  writers: item.isEcho ? [] : [identityOf(item.customer), item.customer.userId].filter((identity) => identity !== null),
  shownWriter: shownIdentityOf(item.customer),
  wamid: item.wamid,
  targetWamid: item.originalWamid,
  kind: item.change,
  text: item.newText,
  occurredAt: toDate(item.timestamp) ?? receivedAt,
})

/** The record of a message or reaction; undefined if it names no customer. `sourceType`: of contacts that it creates. */
export function toRecord(sourceType: string, { item, sender, receivedAt }: WrittenItem): InboundRecord | undefined {
  const place = toPlace(item)
  if (place === undefined) return undefined
  const isMessage = item.kind === 'message'
  return {
    companyId: sender.companyId,
    senderId: sender.id,
    kind: item.kind === 'reaction' ? 'reaction' : item.isEcho ? 'echo' : 'message',
    ...place,
    wamid: item.wamid,
    type: isMessage ? item.recordType : 'text',
    text: isMessage ? item.recordText : null,
    media: isMessage ? item.media : null,
    targetWamid: isMessage ? null : item.targetWamid,
    emoji: isMessage ? null : item.emoji,
    sentAt: toDate(item.timestamp),
    arrivedAt: receivedAt,
    opensWindow: item.opensWindow,
    senderName: item.isEcho ? sender.phoneName : writerOf(item),
    sourceType,
  }
}

/** The customer of the conversation that an item belongs to. A group has a conversation of its own. */
export function toPlace(item: MessageItem | ReactionItem) {
  const { groupId, isEcho } = item
  if (groupId !== null) return { customer: `#${groupId}`, other: null, phone: null, profileName: groupId }
  const { phone, userId, profileName } = item.customer
  const customer = identityOf(item.customer)
  if (customer === null) return undefined
  const other = phone !== null && userId !== null ? userId : null
  return { customer, other, phone, profileName: isEcho ? null : profileName }
}

/** The shown name of the writer; in a group with the phone number, since the conversation does not have it. */
function writerOf({ groupId, customer }: MessageItem | ReactionItem): string | null {
  const { profileName } = customer
  if (groupId === null) return profileName
  const identity = shownIdentityOf(customer)
  return profileName === null || identity === null ? (profileName ?? identity) : `${profileName} (${identity})`
}

const shownIdentityOf = ({ phone, userId }: Customer): string | null => (phone === null ? userId : `+${phone}`)

/** The media of a new message to copy from the provider, if any. */
export const toMedia = ({ item, sender, messageId }: Conversing & { messageId: number | null }) =>
  item.kind === 'message' && item.media?.providerMediaId && messageId !== null
    ? [{ companyId: sender.companyId, senderId: sender.id, messageId, providerMediaId: item.media.providerMediaId }]
    : []

/** The envelope of a new message for receivers, if it is of a kind that they get. */
export function toForwarded({ item, sender, messageId }: Conversing & { messageId: number | null }) {
  if (!isForwardable(item)) return []
  const forwardable: Forwardable = item
  const body = buildEnvelope(forwardable, {
    companyId: sender.companyId,
    provider: sender.provider,
    phoneNumber: sender.phone,
    channelId: sender.id,
  })
  return [{ companyId: sender.companyId, wamid: forwardable.wamid, messageId, body }]
}

/**
 * The status of a message, as its store takes it. Our message id is digits; another tool's callback data may be any text.
 * `enqueued` tells only which wamid belongs to the provider's id; if both are equal, it is no wamid.
 */
export function toStatusRecord({ item, sender }: Routed<StatusItem>): StatusRecord {
  const messageId = /^[1-9][0-9]{0,14}$/.test(item.callbackData ?? '') ? Number(item.callbackData) : null
  return {
    companyId: sender.companyId,
    senderId: sender.id,
    wamid: item.wamid === item.providerMessageId ? null : item.wamid,
    providerMessageId: item.providerMessageId,
    messageId,
    status: item.status === 'enqueued' ? null : item.status,
    occurredAt: toDate(item.timestamp),
    error: item.error,
  }
}

/** The change of a template that an item reports, if any. */
export function toTemplateEvent({ item, sender }: Routed<InboundItem>): TemplateEvent[] {
  const { companyId, wabaAccountId } = sender
  if (item.kind === 'template-status' || item.kind === 'template-quality' || item.kind === 'template-category') {
    const { templateId, name, language } = item
    // An app's own events call a template by an id of their own: there its name counts.
    const externalId = item.route.by === 'app' ? null : templateId
    const place = { companyId, wabaAccountId, externalId, name, language }
    if (item.kind === 'template-quality') return [{ ...place, qualityScore: item.score }]
    if (item.kind === 'template-category') return [{ ...place, category: item.category }]
    return [{ ...place, status: item.status, providerStatus: item.event, rejectedReason: item.reason }]
  }
  return []
}

/** The daily limit that an item reports, if any. Null: unlimited. */
export const toNumberLimit = ({ item, sender }: Routed<InboundItem>) =>
  item.kind === 'number-quality' && item.dailyLimit !== null
    ? [
        {
          companyId: sender.companyId,
          wabaAccountId: sender.wabaAccountId,
          phone: item.displayPhone,
          dailyLimit: item.dailyLimit === 'unlimited' ? null : item.dailyLimit,
        },
      ]
    : []

/** The preference about marketing messages that an item reports, if any. */
export function toPreference({ item, sender }: Routed<InboundItem>) {
  if (item.kind !== 'preference') return []
  const { phone, userId } = item.customer
  const identities = [phone === null ? null : phoneIdentity(phone), userId].filter((identity) => identity !== null)
  return [{ companyId: sender.companyId, identities, value: item.marketing === 'resume' }]
}

const identityOf = ({ phone, userId }: Customer): string | null => (phone === null ? userId : phoneIdentity(phone))

/** The time of epoch seconds; null if it is absent or beyond what a date can hold. */
export const toDate = (seconds: number | null): Date | null => {
  const date = seconds === null ? null : new Date(seconds * 1000)
  return date === null || Number.isNaN(date.getTime()) ? null : date
}
