import type { LiveChange, Publish } from '../../changes/live-change.ts'
import type { RecordChange, RecordEvents } from '../../changes/record-change.ts'
import { applyHandovers } from '../../conversations/control-store.ts'
import { type ChangedCall, recordCallEvents } from '../../conversations/recording/call-store.ts'
import {
  findTargets,
  type MessageChange,
  recordMessageChanges,
} from '../../conversations/recording/message-change-store.ts'
import { listCreatedContacts } from '../../conversations/recording/recipient-store.ts'
import { takeWaitingStatuses } from '../../conversations/recording/waiting-status-store.ts'
import type { Db } from '../../db/connect.ts'
import { areOfErased, recordPreferences } from '../../people/consent/preference.ts'
import type { IdentityKey } from '../../people/customer-store.ts'
import type { InboundItem } from '../../providers/events/event-item.ts'
import { type AccountEvent, recordAccountEvents } from '../../senders/account-event-store.ts'
import { applyMarketingTerms, applyNumberLimits } from '../../senders/sender-event-store.ts'
import { applyTemplateEvents } from '../../templates/template-event-store.ts'
import { toAccountEvent } from './account-records.ts'
import type { IdentityEvent, InboundEntry } from './batch/decide-inbound.ts'
import { groupWritersOf } from './batch/inbound-facts.ts'
import {
  namesCustomer,
  type PlacedItem,
  toChange,
  toEchoChange,
  toForwarded,
  toHandover,
  toIdentityChange,
  toIntroduction,
  toMarketingTerms,
  toMedia,
  toNumberLimit,
  toPreference,
  toRecord,
  toTemplateEvent,
} from './batch/item-records.ts'
import { readRecipients } from './batch/learn-recipients.ts'
import { recordInbound } from './batch/record-inbound.ts'
import { toStatusRecord } from './batch/status-records.ts'
import { type Recorded, toContactChanges } from './batch/write-inbound.ts'
import { handleStatuses, type StatusDeps } from './handle-statuses.ts'
import { ofItem } from './item-error.ts'
import {
  type Arrived,
  type Conversing,
  isCall,
  isChange,
  isConversational,
  isRenaming,
  isStatus,
  isWritten,
  type Routed,
  type RoutedItems,
  routeItems,
  type WrittenItem,
} from './routing/route-items.ts'
import { NO_CUSTOMER } from './unhandled/unhandled-reason.ts'
import { verifyEarly } from './verify-early.ts'

export type AfterCommit = () => void

/** Ports to other modules, which must write in the same transaction. */
type Follow = {
  forward: (tx: Db, messages: readonly ForwardedMessage[]) => Promise<AfterCommit>
  copyMedia: (tx: Db, media: readonly MediaToCopy[]) => Promise<AfterCommit>
  publish: Publish
  recordEvents: RecordEvents
}

type ForwardedMessage = {
  companyId: number
  senderId: number
  /** Null for an edit or revoke without a stored message. */
  conversationId: number | null
  wamid: string
  messageId: number | null
  body: string
  /** Lets an erasure find the event; empty for direct messages, found by their row. */
  people: readonly string[]
}
type MediaToCopy = { companyId: number; senderId: number; messageId: number; providerMediaId: string }

export type HandleDeps = Follow &
  StatusDeps & {
    sourceType: string
    decrypt: (sealed: string) => string
    /** Called after the commit. Excludes templates and limits read before. */
    onAccountEvents: (events: readonly AccountEvent[]) => void
  }
export type Handling = HandleDeps & { afterwards: AfterCommit[] }

type NotHandled = { item: InboundItem; state: 'unroutable' | 'unverified' | 'failed'; reason: string }

/** Writes the consequences for items, in order. Returns items without a connected number or a customer. */
export async function handleItems(
  deps: Handling,
  tx: Db,
  arrived: readonly Arrived[],
  at: Date,
): Promise<NotHandled[]> {
  return handleRouted(deps, tx, await routeItems(tx, arrived), at)
}

/** Like `handleItems`, for routed items. */
export async function handleRouted(
  deps: Handling,
  tx: Db,
  { routed: all, unroutable }: RoutedItems,
  at: Date,
): Promise<NotHandled[]> {
  const { taken: routed, unverified } = await verifyEarly(tx, deps.decrypt, all)
  const waited = await takeWaitingStatuses(tx, routed.flatMap(toEcho))
  const statusRecords = [...waited, ...routed.filter(isStatus).map(ofItem(toStatusRecord))]
  const { reports, unlearnt } = await readRecipients(tx, statusRecords)
  await handleCustomers(deps, tx, routed, reports, at)
  const statuses = await handleStatuses(deps, tx, statusRecords, at, unlearnt)
  const controlled = await applyHandovers(tx, routed.flatMap(ofItem(toHandover)), at)
  const templateEvents = routed.flatMap(ofItem(toTemplateEvent))
  const templates = await applyTemplateEvents(tx, templateEvents)
  await applyNumberLimits(tx, routed.flatMap(ofItem(toNumberLimit)))
  await applyMarketingTerms(tx, routed.flatMap(ofItem(toMarketingTerms)))
  const accountEvents = await recordAccountEvents(tx, routed.flatMap(ofItem(toAccountEvent)))
  if (accountEvents.length > 0) deps.afterwards.push(() => deps.onAccountEvents(accountEvents))
  const contacts = await recordPreferences(tx, routed.flatMap(ofItem(toPreference)))
  await deps.recordEvents.publish(tx, [
    ...statuses.recordChanges,
    ...templates.map((template): RecordChange => ({ event: 'whatsapp.template.status', ...template })),
    ...contacts.map((contact): RecordChange => ({ event: 'contact.changed', change: 'consent', ...contact })),
  ])
  deps.afterwards.push(() =>
    deps.publish([
      ...statuses.liveChanges,
      ...controlled.map((conversation): LiveChange => ({ topic: 'conversation', ...conversation })),
      ...templateEvents.map(toReset),
      ...contacts.map((contact): LiveChange => ({ topic: 'contact', ...contact })),
    ]),
  )
  const nameless = routed.filter((one) => isWritten(one) && !namesCustomer(one.item))
  return [
    ...unroutable.map((item): NotHandled => ({ item, state: 'unroutable', reason: 'no connected number wants it' })),
    ...distinctItems(unverified).map((item): NotHandled => ({ item, state: 'unverified', reason: UNVERIFIED })),
    ...nameless.map(({ item }): NotHandled => ({ item, state: 'failed', reason: NO_CUSTOMER })),
  ]
}

const UNVERIFIED = 'neither signature nor secret proves where it is from'
/** Statuses may arrive before their echo. */
const toEcho = ({ item, sender: { companyId } }: Routed<InboundItem>) =>
  item.kind === 'message' && item.isEcho ? [{ companyId, wamid: item.wamid }] : []

const distinctItems = (routed: readonly Routed<InboundItem>[]) => [...new Set(routed.map(({ item }) => item))]

async function handleCustomers(
  deps: Handling,
  tx: Db,
  items: readonly Routed<InboundItem>[],
  recipients: readonly IdentityEvent[],
  at: Date,
): Promise<void> {
  const routed = items.filter(isConversational)
  const entries: InboundEntry[] = []
  const written: WrittenItem[] = []
  for (const one of items) {
    if (isRenaming(one)) entries.push(ofItem(toIdentityChange)(one))
    const record = isWritten(one) ? ofItem(toRecord)(one) : undefined
    if (record === undefined || !isWritten(one)) continue
    entries.push(record)
    written.push(one)
  }
  entries.push(...recipients, ...(await readIntroductions(tx, items)))
  const changes = routed.filter(isChange)
  const changeRecords = changes.map(ofItem(toChange))
  const writers = [...changeRecords.flatMap(changersOf), ...entries.flatMap(groupWritersOf)]
  const { recorded, movedCompanies, ...contacts } = await recordInbound(tx, entries, {
    sourceType: deps.sourceType,
    at,
    writers,
  })
  const changed = await recordMessageChanges(tx, changeRecords, at)
  const calls = await recordCalls(tx, written, recorded, at)
  const targets = await findTargets(tx, [...written.flatMap(toReactionTarget), ...changeRecords])

  deps.afterwards.push(() =>
    deps.publish([
      ...movedCompanies.map((companyId) => toReset({ companyId })),
      ...contacts.changedContacts.map((contact): LiveChange => ({ topic: 'contact', ...contact })),
      ...written.flatMap(({ sender }, index) => toLiveChanges(sender.companyId, recorded[index])),
      ...[...targets, ...calls.values()].flatMap(({ companyId, id, conversationId }): LiveChange[] => [
        { topic: 'message', companyId, id },
        { topic: 'conversation', companyId, id: conversationId },
      ]),
    ]),
  )

  const isNew = new Map<Conversing, Place>()
  for (const [one, { id, conversationId }] of calls) isNew.set(one, { messageId: id, conversationId })
  for (const [index, one] of written.entries()) {
    const result = recorded[index]
    if (result?.isNew) isNew.set(one, result)
  }
  const conversations = new Map(targets.map(({ conversationId, ...target }) => [targetKey(target), conversationId]))
  for (const [index, one] of changes.entries()) {
    const conversationId = conversations.get(targetKey({ ...one.sender, wamid: one.item.originalWamid })) ?? null
    if (changed[index]) isNew.set(one, { messageId: null, conversationId })
  }
  const fresh = routed.flatMap((one) => {
    const place = isNew.get(one)
    if (place === undefined) return []
    const { messageId, conversationId } = place
    return [{ ...withCall(one, calls.get(one)), messageId, conversationId }]
  })
  const toReceivers = fresh.filter(({ sender }) => sender.hasReceivers).flatMap(ofItem(toForwarded))
  deps.afterwards.push(await deps.copyMedia(tx, fresh.flatMap(ofItem(toMedia))), await deps.forward(tx, toReceivers))
  await deps.recordEvents.publish(tx, [...fresh.flatMap(ofItem(toEchoChange)), ...toContactChanges(contacts)])
  await publishContacts(deps, tx, fresh)
}

/** Adds later call events to their messages; returns the changed ones. */
async function recordCalls(
  tx: Db,
  written: readonly WrittenItem[],
  recorded: readonly Recorded[],
  at: Date,
): Promise<Map<Conversing, ChangedCall>> {
  const further = written.filter((_, place) => !recorded[place]?.isNew).filter(isCall)
  const events = further.map(({ item, sender: { companyId } }) => ({ companyId, callId: item.callId, call: item.call }))
  const changed = await recordCallEvents(tx, events, at)
  return new Map(
    further.flatMap((one, place): [Conversing, ChangedCall][] => {
      const call = changed[place]
      return call === undefined ? [] : [[one, call]]
    }),
  )
}

function withCall(one: Conversing, changed: ChangedCall | undefined): Conversing {
  if (!isCall(one) || changed === undefined) return one
  return { ...one, item: { ...one.item, details: { ...one.item.details, call: changed.call } } }
}

const changersOf = ({ companyId, writers }: MessageChange): IdentityKey[] =>
  writers.map((identity) => ({ companyId, identity }))

async function publishContacts({ recordEvents }: Handling, tx: Db, fresh: readonly PlacedItem[]): Promise<void> {
  const places = fresh.map(({ sender: { companyId }, conversationId }) => ({ companyId, conversationId }))
  const requested = places.filter(({ companyId }) => recordEvents.isSubscribed('contact.changed', [companyId]))
  if (requested.length > 0) await recordEvents.publish(tx, await listCreatedContacts(tx, requested))
}

type Place = Pick<Recorded, 'messageId' | 'conversationId'>
const targetKey = ({ companyId, wamid }: { companyId: number; wamid: string | null }) => `${companyId} ${wamid}`

async function readIntroductions(tx: Db, items: readonly Routed<InboundItem>[]): Promise<InboundEntry[]> {
  const introducing = items.filter((one) => toIntroduction(one).length > 0)
  const areErased = await areOfErased(tx, introducing.flatMap(ofItem(toPreference)))
  return introducing.filter((_, place) => !areErased[place]).flatMap(toIntroduction)
}

const toReactionTarget = ({ item, sender: { companyId } }: WrittenItem) =>
  item.kind === 'reaction' ? [{ companyId, targetWamid: item.targetWamid }] : []

const toReset = ({ companyId }: { companyId: number }): LiveChange => ({ topic: 'all', companyId })

/** Reactions have a conversation but no message. */
function toLiveChanges(companyId: number, recorded: Recorded | undefined): LiveChange[] {
  if (!recorded?.isNew) return []
  const { conversationId, messageId } = recorded
  return [
    ...(messageId === null ? [] : [{ topic: 'message' as const, companyId, id: messageId }]),
    ...(conversationId === null ? [] : [{ topic: 'conversation' as const, companyId, id: conversationId }]),
  ]
}
