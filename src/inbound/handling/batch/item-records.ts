import type { RecordChange } from '../../../changes/record-change.ts'
import type { Handover } from '../../../conversations/control-store.ts'
import type { MessageChange } from '../../../conversations/recording/message-change-store.ts'
import { phoneIdentity } from '../../../platform/text/phone.ts'
import type {
  ChangeItem,
  EventCustomer,
  InboundItem,
  Placed,
  TemplateComponentsItem,
} from '../../../providers/events/event-item.ts'
import type { MarketingTerms, NumberLimit } from '../../../senders/sender-event-store.ts'
import type { ChangedComponents, TemplateEvent } from '../../../templates/template-event-store.ts'
import { conversationPerson } from '../../../webhooks/deliveries/delivery-store.ts'
import { buildEnvelope, type Forwardable, isForwardable } from '../../../webhooks/events/message-received.ts'
import type { Conversing, Renaming, Routed, WrittenItem } from '../routing/route-items.ts'
import type { IdentityEvent, InboundRecord } from './decide-inbound.ts'
import { eventTime } from './event-time.ts'
import { NOTHING_STATED, toStated } from './stated-members.ts'

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
    ? [{ companyId: sender.companyId, senderId: sender.id, messageId, providerMediaId: item.media.providerMediaId }]
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
export function toForwarded({ item, sender, messageId, conversationId }: PlacedItem) {
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

/** Builds the handover in an item. */
export function toHandover({ item, sender, receivedAt }: Routed<InboundItem>): Handover[] {
  if (item.kind !== 'handover') return []
  const { phoneNumberId, phone, userId, controlledBy } = item
  const identities = writerIdentities({ phone, userId })
  const occurredAt = timeOf({ item, receivedAt })
  const { companyId, wabaAccountId: account } = sender
  const named = phoneNumberId ?? (item.route.by === 'sender' ? item.route.phoneNumberId : null)
  return [{ companyId, account, phoneNumberId: named, identities, controlledBy, occurredAt }]
}

/** Builds the template change in an item. */
export function toTemplateEvent({ item, sender, receivedAt }: Routed<InboundItem>): TemplateEvent[] {
  if (!isTemplateItem(item)) return []
  const { companyId, wabaAccountId } = sender
  const { templateId, name, language } = item
  // App events use their own template ids, so only the name counts.
  const externalId = item.route.by === 'app' ? null : templateId
  const place = { companyId, wabaAccountId, externalId, name, language, at: timeOf({ item, receivedAt }) }
  switch (item.kind) {
    case 'template-quality':
      return [{ ...place, qualityScore: item.score }]
    case 'template-category':
      return [{ ...place, category: item.category }]
    case 'template-components':
      return [{ ...place, components: toComponents(item) }]
    case 'template-status':
      return [{ ...place, status: item.status, providerStatus: item.event, rejectedReason: item.reason }]
  }
}

type TemplateItem = Extract<InboundItem, { kind: `template-${string}` }>
const isTemplateItem = (item: InboundItem): item is TemplateItem => item.kind.startsWith('template-')

const toComponents = ({ header, body, footer, buttons }: TemplateComponentsItem): ChangedComponents => ({
  header,
  body,
  footer,
  buttons: buttons.map(({ type, text, url, phoneNumber }) => ({
    type,
    text,
    ...(url !== null && { url }),
    ...(phoneNumber !== null && { phone_number: phoneNumber }),
  })),
})

/** Builds the new daily limit for a number or account; null means unlimited. */
export function toNumberLimit({ item, sender, receivedAt }: Routed<InboundItem>): NumberLimit[] {
  if ((item.kind !== 'number-quality' && item.kind !== 'account-event') || item.dailyLimit === null) return []
  return [
    {
      companyId: sender.companyId,
      wabaAccountId: sender.wabaAccountId,
      phone: item.kind === 'number-quality' ? item.displayPhone : null,
      dailyLimit: item.dailyLimit === 'unlimited' ? null : item.dailyLimit,
      at: timeOf({ item, receivedAt }),
    },
  ]
}

/** Builds the signed marketing terms in an item. */
export function toMarketingTerms({ item, sender, receivedAt }: Routed<InboundItem>): MarketingTerms[] {
  if (item.kind !== 'account-event' || !item.signsMarketingTerms) return []
  const { companyId, wabaAccountId } = sender
  return [{ companyId, wabaAccountId, isSigned: true, at: timeOf({ item, receivedAt }) }]
}

/** Builds the marketing preference in an item. */
export function toPreference({ item, sender, receivedAt }: Routed<InboundItem>) {
  if (item.kind !== 'preference') return []
  const identities = writerIdentities(item.customer)
  const saidAt = timeOf({ item, receivedAt })
  // The provider sends no id for these events.
  const eventId = `${item.marketing} ${(toDate(item.timestamp) ?? receivedAt).getTime()}`
  return [
    {
      companyId: sender.companyId,
      identities,
      value: item.marketing === 'resume',
      saidAt,
      eventId,
      arrivedAt: receivedAt,
    },
  ]
}

/** Links a preference's customer identities, if more than one. */
export function toIntroduction({ item, sender, receivedAt }: Routed<InboundItem>): IdentityEvent[] {
  if (item.kind !== 'preference') return []
  const { phone, userId } = item.customer
  if (phone === null || userId === null) return []
  const at = timeOf({ item, receivedAt }).getTime()
  const customer = { phone, userId, account: sender.wabaAccountId, at }
  return [{ kind: 'introduction', companyId: sender.companyId, wamid: null, customer }]
}

export const writerIdentities = ({ phone, userId }: Pick<EventCustomer, 'phone' | 'userId'>): string[] =>
  [phone === null ? null : phoneIdentity(phone), userId].filter((identity) => identity !== null)

type Timed = { item: Pick<Placed, 'timestamp'>; receivedAt: Date }

const timeOf = ({ item, receivedAt }: Timed): Date => eventTime(toDate(item.timestamp), receivedAt)

/** Returns when an item happened; null if the provider reports no time. */
export function reportedTimeOf({ item, receivedAt }: Timed): Date | null {
  const reportedAt = toDate(item.timestamp)
  return reportedAt === null ? null : eventTime(reportedAt, receivedAt)
}

const toDate = (seconds: number | null): Date | null => {
  const date = seconds === null ? null : new Date(seconds * 1000)
  return date === null || Number.isNaN(date.getTime()) ? null : date
}
