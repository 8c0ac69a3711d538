import { recordPreferences } from '../../contacts/consent/contact-event-store.ts'
import { findTargets, recordMessageChanges } from '../../conversations/message-change-store.ts'
import { type Recorded, recordInbound } from '../../conversations/record-store.ts'
import { recordStatuses } from '../../conversations/status-store.ts'
import type { Db } from '../../db/connect.ts'
import type { LiveChange, Tell } from '../../live-change.ts'
import type { InboundItem } from '../../providers/events/event-item.ts'
import { applyNumberLimits } from '../../senders/sender-event-store.ts'
import { applyTemplateEvents } from '../../templates/template-event-store.ts'
import { phoneIdentity } from '../../text/phone.ts'
import { changeNumber, changeUserId } from './identity-change-store.ts'
import {
  toChange,
  toDate,
  toForwarded,
  toMedia,
  toNumberLimit,
  toPlace,
  toPreference,
  toRecord,
  toStatusRecord,
  toTemplateEvent,
} from './item-records.ts'
import {
  type Arrived,
  type Conversing,
  isChange,
  isConversational,
  isRenaming,
  isStatus,
  isWritten,
  type Renaming,
  type Routed,
  routeItems,
} from './route-items.ts'
import { verifyEarly } from './verify-early.ts'

/** Work to do after the transaction has committed. */
export type AfterCommit = () => void

/** Consequences of items for other rooms, which write them in the same transaction. */
export type Follow = {
  /** New messages for the receivers, in order. */
  forward: (tx: Db, messages: readonly ForwardedMessage[]) => Promise<AfterCommit>
  /** New messages whose media is to be copied from the provider. */
  copyMedia: (tx: Db, media: readonly MediaToCopy[]) => Promise<AfterCommit>
  tell: Tell
}

export type ForwardedMessage = { companyId: number; wamid: string; messageId: number | null; body: string }
export type MediaToCopy = { companyId: number; senderId: number; messageId: number; providerMediaId: string }

export type HandleDeps = Follow & { sourceType: string; decrypt: (sealed: string) => string }
/** With what is to be done after the commit, which grows as items are handled. */
export type Handling = HandleDeps & { afterwards: AfterCommit[] }

/** An item that nothing could be made of, and why. */
export type NotHandled = { item: InboundItem; state: 'unroutable' | 'unverified' | 'failed'; reason: string }

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
  const moved = await recordStatuses(tx, routed.filter(isStatus).map(toStatusRecord), at)
  const templateEvents = routed.flatMap(toTemplateEvent)
  await applyTemplateEvents(tx, templateEvents)
  await applyNumberLimits(tx, routed.flatMap(toNumberLimit))
  const contacts = await recordPreferences(tx, routed.flatMap(toPreference))
  deps.afterwards.push(() =>
    deps.tell([
      ...moved.map((message): LiveChange => ({ topic: 'message', ...message })),
      ...templateEvents.map(toReset),
      ...contacts.map((contact): LiveChange => ({ topic: 'contact', ...contact })),
    ]),
  )
  const nameless = routed.filter((one) => isWritten(one) && toPlace(one.item) === undefined)
  return [
    ...unroutable.map((item): NotHandled => ({ item, state: 'unroutable', reason: 'no connected number wants it' })),
    ...distinctItems(unverified).map((item): NotHandled => ({ item, state: 'unverified', reason: UNVERIFIED })),
    ...nameless.map(({ item }): NotHandled => ({ item, state: 'failed', reason: 'it names no customer' })),
  ]
}

const UNVERIFIED = 'neither signature nor secret proves where it is from'
const distinctItems = (routed: readonly Routed<InboundItem>[]) => [...new Set(routed.map(({ item }) => item))]

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
    deps.afterwards.push(() => deps.tell([toReset(one.sender)]))
  }
  await handleConversational(deps, tx, conversing, at)
}

async function handleConversational(deps: Handling, tx: Db, routed: readonly Conversing[], at: Date): Promise<void> {
  const written = routed.filter(isWritten)
  const known = written.flatMap((one) => {
    const record = toRecord(deps.sourceType, one)
    return record === undefined ? [] : [{ one, record }]
  })
  const changes = routed.filter(isChange)
  const records = known.map(({ record }) => record)
  const recorded = await recordInbound(tx, records, at)
  const changeRecords = changes.map(toChange)
  const changed = await recordMessageChanges(tx, changeRecords, at)
  const reactions = records.filter(({ kind }) => kind === 'reaction')
  const targets = await findTargets(tx, [...reactions, ...changeRecords])

  deps.afterwards.push(() =>
    deps.tell([
      ...known.flatMap(({ record }, index) => toLiveChanges(record.companyId, recorded[index])),
      ...targets.flatMap(({ companyId, id, conversationId }): LiveChange[] => [
        { topic: 'message', companyId, id },
        { topic: 'conversation', companyId, id: conversationId },
      ]),
    ]),
  )

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

const toReset = ({ companyId }: { companyId: number }): LiveChange => ({ topic: 'all', companyId })

/** A reaction has a conversation only. */
function toLiveChanges(companyId: number, recorded: Recorded | undefined): LiveChange[] {
  if (!recorded?.isNew) return []
  const { conversationId, messageId } = recorded
  return [
    ...(messageId === null ? [] : [{ topic: 'message' as const, companyId, id: messageId }]),
    ...(conversationId === null ? [] : [{ topic: 'conversation' as const, companyId, id: conversationId }]),
  ]
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
