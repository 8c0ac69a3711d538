import { recordPreferences } from '../../contacts/consent/contact-event-store.ts'
import { type MessageChange, recordMessageChanges } from '../../conversations/message-change-store.ts'
import { type InboundRecord, recordInbound, recordStatuses } from '../../conversations/record-store.ts'
import type { StatusRecord } from '../../conversations/waiting-status-store.ts'
import type { Db } from '../../db/connect.ts'
import type {
  ChangeItem,
  Customer,
  InboundItem,
  MessageItem,
  NumberChangedItem,
  ReactionItem,
  StatusItem,
  UserIdChangedItem,
} from '../../providers/events/event-item.ts'
import { applyNumberLimits } from '../../senders/sender-event-store.ts'
import { applyTemplateEvents, type TemplateEvent } from '../../templates/template-event-store.ts'
import { phoneIdentity } from '../../text/phone.ts'
import { buildEnvelope, type Forwardable, isForwardable } from '../envelope.ts'
import type { StoredEvent } from '../event-store.ts'
import { changeNumber, changeUserId } from './identity-change-store.ts'
import { findSendersByAccount, findSendersByApp, findSendersByNumber, type RoutedSender } from './routing-store.ts'
import { verifyEarly } from './verify-early.ts'

/** Work to do after the transaction has committed. */
export type AfterCommit = () => void

/** Consequences of items for other rooms, which write them in the same transaction. */
export type Follow = {
  /** New messages for the receivers, in order. */
  forward: (tx: Db, messages: readonly ForwardedMessage[]) => Promise<AfterCommit>
  /** New messages whose media is to be copied from the provider. */
  copyMedia: (tx: Db, media: readonly MediaToCopy[]) => Promise<AfterCommit>
}

export type ForwardedMessage = { companyId: number; wamid: string; messageId: number | null; body: string }
export type MediaToCopy = { companyId: number; senderId: number; messageId: number; providerMediaId: string }

export type HandleDeps = Follow & { sourceType: string; decrypt: (sealed: string) => string }
/** With what is to be done after the commit, which grows as items are handled. */
export type Handling = HandleDeps & { afterwards: AfterCommit[] }

/** An item, and when its event came. */
export type Arrived = { item: InboundItem; receivedAt: Date; event: StoredEvent }
/** An item that nothing could be made of, and why. */
export type NotHandled = { item: InboundItem; state: 'unroutable' | 'unverified' | 'failed'; reason: string }

type Routed<T> = Omit<Arrived, 'item'> & { item: T; sender: RoutedSender }
type Written = Routed<MessageItem | ReactionItem>
type Conversing = Written | Routed<ChangeItem>
type Renaming = Routed<NumberChangedItem | UserIdChangedItem>

/**
 * Writes the consequences of items, in their order, in the caller's transaction. Returns the items that belong to no
 * connected number or name no customer.
 */
export async function handleItems(
  deps: Handling,
  tx: Db,
  arrived: readonly Arrived[],
  at: Date,
): Promise<NotHandled[]> {
  const { routed: all, unroutable } = await routeItems(tx, arrived)
  const { taken: routed, unverified } = await verifyEarly(tx, deps.decrypt, all)
  await handleCustomers(deps, tx, routed, at)
  await recordStatuses(tx, routed.filter(isStatus).map(toStatusRecord), at)
  await applyTemplateEvents(tx, routed.flatMap(toTemplateEvent))
  await applyNumberLimits(tx, routed.flatMap(toNumberLimit))
  await recordPreferences(tx, routed.flatMap(toPreference))
  const nameless = routed.filter((one) => isWritten(one) && toPlace(one.item) === undefined)
  return [
    ...unroutable.map((item): NotHandled => ({ item, state: 'unroutable', reason: 'no connected number wants it' })),
    ...distinctItems(unverified).map((item): NotHandled => ({ item, state: 'unverified', reason: UNVERIFIED })),
    ...nameless.map(({ item }): NotHandled => ({ item, state: 'failed', reason: 'it names no customer' })),
  ]
}

const UNVERIFIED = 'neither signature nor secret proves where it is from'
const distinctItems = (routed: readonly Routed<InboundItem>[]) => [...new Set(routed.map(({ item }) => item))]

async function routeItems(tx: Db, arrived: readonly Arrived[]) {
  const wanted = arrived.filter(({ item: { kind } }) => kind !== 'ignored' && kind !== 'unreadable-item')
  const numbers = new Set<string>()
  const accounts = new Set<string>()
  const apps = new Set<string>()
  for (const { item } of wanted) {
    if (item.route.by === 'sender') numbers.add(item.route.phoneNumberId)
    if (item.route.by === 'account') accounts.add(item.route.wabaAccountId)
    if (item.route.by === 'app') apps.add(item.route.appId)
  }
  const byNumber = numbers.size === 0 ? [] : await findSendersByNumber(tx, [...numbers])
  const byAccount = accounts.size === 0 ? [] : await findSendersByAccount(tx, [...accounts])
  const byApp = apps.size === 0 ? [] : await findSendersByApp(tx, [...apps])
  const senderOfNumber = new Map(byNumber.map((sender) => [sender.phoneNumberId, sender]))
  const sendersOfAccount = Map.groupBy(byAccount, (sender) => sender.wabaAccountId)

  const sendersOfApp = Map.groupBy(byApp, (sender) => sender.app)

  const routed: Routed<InboundItem>[] = []
  const unroutable: InboundItem[] = []
  for (const one of wanted) {
    const senders = sendersOf(one.item)
    for (const sender of senders) routed.push({ ...one, sender })
    if (senders.length === 0) unroutable.push(one.item)
  }
  return { routed, unroutable }

  function sendersOf({ route }: InboundItem): RoutedSender[] {
    if (route.by === 'sender') {
      const sender = senderOfNumber.get(route.phoneNumberId)
      return sender === undefined ? [] : [sender]
    }
    if (route.by === 'nothing') return []
    const senders = route.by === 'app' ? sendersOfApp.get(route.appId) : sendersOfAccount.get(route.wabaAccountId)
    // An account event concerns a company once, however many numbers it has on the account.
    return [...new Map((senders ?? []).map((sender) => [sender.companyId, sender])).values()]
  }
}

/** Messages, and between them in their places the changes of who a customer is. */
async function handleCustomers(
  deps: Handling,
  tx: Db,
  routed: readonly Routed<InboundItem>[],
  at: Date,
): Promise<void> {
  let conversing: Conversing[] = []
  for (const one of routed) {
    if (isConversational(one)) conversing.push(one)
    if (!isRenaming(one)) continue
    await handleConversational(deps, tx, conversing, at)
    conversing = []
    await handleRenaming(tx, one, at)
  }
  await handleConversational(deps, tx, conversing, at)
}

async function handleConversational(deps: Handling, tx: Db, routed: readonly Conversing[], at: Date): Promise<void> {
  const written = routed.filter(isWritten)
  const known = written.flatMap((one) => {
    const record = toRecord(deps, one)
    return record === undefined ? [] : [{ one, record }]
  })
  const changes = routed.filter(isChange)
  const recorded = await recordInbound(
    tx,
    known.map(({ record }) => record),
    at,
  )
  const changed = await recordMessageChanges(tx, changes.map(toChange), at)

  const isNew = new Map<Conversing, number | null>()
  for (const [index, { one }] of known.entries()) {
    const result = recorded[index]
    if (result?.isNew) isNew.set(one, result.messageId)
  }
  for (const [index, one] of changes.entries()) if (changed[index]) isNew.set(one, null)
  const fresh = routed.filter((one) => isNew.has(one)).map((one) => ({ ...one, messageId: isNew.get(one) ?? null }))
  const toReceivers = fresh.filter(({ sender }) => sender.hasReceivers).flatMap(toForwarded)
  deps.afterwards.push(await deps.copyMedia(tx, fresh.flatMap(toMedia)), await deps.forward(tx, toReceivers))
}

const toChange = ({ item, sender, receivedAt }: Routed<ChangeItem>): MessageChange => ({
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

function toRecord(deps: HandleDeps, { item, sender, receivedAt }: Written): InboundRecord | undefined {
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
    sourceType: deps.sourceType,
  }
}

/** Whose conversation an item belongs to: a group's own, never that of the person who wrote there. */
function toPlace(item: MessageItem | ReactionItem) {
  const { groupId, isEcho } = item
  if (groupId !== null) return { customer: `#${groupId}`, other: null, phone: null, profileName: groupId }
  const { phone, userId, profileName } = item.customer
  const customer = identityOf(item.customer)
  if (customer === null) return undefined
  const other = phone !== null && userId !== null ? userId : null
  return { customer, other, phone, profileName: isEcho ? null : profileName }
}

/** In a group the phone tells who wrote, since the conversation does not. */
function writerOf({ groupId, customer }: MessageItem | ReactionItem): string | null {
  const { profileName } = customer
  if (groupId === null) return profileName
  const identity = shownIdentityOf(customer)
  return profileName === null || identity === null ? (profileName ?? identity) : `${profileName} (${identity})`
}

const shownIdentityOf = ({ phone, userId }: Customer): string | null => (phone === null ? userId : `+${phone}`)

const toMedia = ({ item, sender, messageId }: Conversing & { messageId: number | null }) =>
  item.kind === 'message' && item.media?.providerMediaId && messageId !== null
    ? [{ companyId: sender.companyId, senderId: sender.id, messageId, providerMediaId: item.media.providerMediaId }]
    : []

function toForwarded({ item, sender, messageId }: Conversing & { messageId: number | null }) {
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
 * Our message id is digits; another tool's callback data may be anything. That a message was enqueued tells no more than
 * which wamid belongs to the provider's id; where both are the same, it is no wamid.
 */
function toStatusRecord({ item, sender }: Routed<StatusItem>): StatusRecord {
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

function toTemplateEvent({ item, sender }: Routed<InboundItem>): TemplateEvent[] {
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

const toNumberLimit = ({ item, sender }: Routed<InboundItem>) =>
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

function toPreference({ item, sender }: Routed<InboundItem>) {
  if (item.kind !== 'preference') return []
  const { phone, userId } = item.customer
  const identities = [phone === null ? null : phoneIdentity(phone), userId].filter((identity) => identity !== null)
  return [{ companyId: sender.companyId, identities, value: item.marketing === 'resume' }]
}

/** A new user id whose old one is not told belongs to the number that is. */
async function handleRenaming(tx: Db, { item, sender, receivedAt }: Renaming, at: Date): Promise<void> {
  const shared = { companyId: sender.companyId, sentAt: toDate(item.timestamp) ?? receivedAt }
  if (item.kind === 'number-changed') {
    const [from, to] = [phoneIdentity(item.from), phoneIdentity(item.to)]
    if (from === to) return
    return changeNumber(tx, { ...shared, from, to, phone: item.to, wamid: item.wamid }, at)
  }
  const { phone } = item.customer
  const from = item.previousUserId ?? (phone === null ? null : phoneIdentity(phone))
  if (from !== null) await changeUserId(tx, { ...shared, from, to: item.userId })
}

const identityOf = ({ phone, userId }: Customer): string | null => (phone === null ? userId : phoneIdentity(phone))

const toDate = (seconds: number | null): Date | null => {
  const date = seconds === null ? null : new Date(seconds * 1000)
  return date === null || Number.isNaN(date.getTime()) ? null : date
}

const isRenaming = (one: Routed<InboundItem>): one is Renaming =>
  one.item.kind === 'number-changed' || one.item.kind === 'user-id-changed'
const isWritten = (one: Routed<InboundItem>): one is Written =>
  one.item.kind === 'message' || one.item.kind === 'reaction'
const isChange = (one: Routed<InboundItem>): one is Routed<ChangeItem> => one.item.kind === 'change'
const isConversational = (one: Routed<InboundItem>): one is Conversing => isWritten(one) || isChange(one)
const isStatus = (one: Routed<InboundItem>): one is Routed<StatusItem> => one.item.kind === 'status'
