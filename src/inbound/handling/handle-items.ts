import type { LiveChange, Publish } from '../../changes/live-change.ts'
import type { RecordChange, RecordEvents } from '../../changes/record-change.ts'
import { type ChangedCall, recordCallEvents } from '../../conversations/message-store.ts'
import {
  findTargets,
  type MessageChange,
  recordMessageChanges,
  takeWaitingStatuses,
} from '../../conversations/recording/waiting-store.ts'
import type { Db } from '../../db/connect.ts'
import type { IdentityKey } from '../../people/customer-store.ts'
import type { InboundItem } from '../../providers/events/event-item.ts'
import type { Forwarded } from '../../webhooks/events/message-received.ts'
import type { IdentityEvent, InboundEntry } from './batch/decide-inbound.ts'
import {
  namesCustomer,
  ofItem,
  type PlacedItem,
  toChange,
  toEchoChange,
  toForwarded,
  toIdentityChange,
  toMedia,
  toRecord,
} from './batch/item-records.ts'
import { groupWritersOf, recordInbound } from './batch/record-inbound.ts'
import { type Recorded, toContactChanges } from './batch/write-inbound.ts'
import { handleReports, type ReportDeps, readIntroductions } from './handle-reports.ts'
import { handleStatuses, readStatuses, type StatusBatch, type StatusDeps, toStatusRecord } from './handle-statuses.ts'
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
  verifyEarly,
  type WrittenItem,
} from './route-items.ts'

export type AfterCommit = () => void

/** Ports to other modules, which must write in the same transaction. */
type Follow = {
  forward: (tx: Db, messages: readonly Forwarded[]) => Promise<AfterCommit>
  copyMedia: (tx: Db, media: readonly { companyId: number; messageId: number }[]) => Promise<AfterCommit>
  publish: Publish
  recordEvents: RecordEvents
}

export type HandleDeps = Follow &
  StatusDeps &
  Omit<ReportDeps, 'afterwards'> & { sourceType: string; decrypt: (sealed: string) => string }
type Handling = HandleDeps & { afterwards: AfterCommit[] }

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
  const statuses = await readBatchStatuses(tx, routed)
  const reports = routed.filter(({ item }) => HANDLED_AS[item.kind] === 'report')
  await handleCustomers(deps, tx, routed, statuses.reports, at)
  const consequences = [
    ...(statuses.records.length > 0 ? [await handleStatuses(deps, tx, statuses, at)] : []),
    ...(reports.length > 0 ? [await handleReports(deps, tx, reports, at)] : []),
  ]
  const recordChanges = consequences.flatMap((one) => one.recordChanges)
  const liveChanges = consequences.flatMap((one) => one.liveChanges)
  if (recordChanges.length > 0) await deps.recordEvents.publish(tx, recordChanges)
  if (liveChanges.length > 0) deps.afterwards.push(() => deps.publish(liveChanges))
  const nameless = routed.filter((one) => isWritten(one) && !namesCustomer(one.item))
  return [
    ...unroutable.map((item): NotHandled => ({ item, state: 'unroutable', reason: 'no connected number wants it' })),
    ...distinctItems(unverified).map((item): NotHandled => ({ item, state: 'unverified', reason: UNVERIFIED })),
    ...nameless.map(({ item }): NotHandled => ({ item, state: 'failed', reason: NO_CUSTOMER })),
  ]
}

export const NO_CUSTOMER = 'it names no customer'
const UNVERIFIED = 'neither signature nor secret proves where it is from'

/** A missing kind must not compile, so that no event is lost. */
const HANDLED_AS: Readonly<Record<InboundItem['kind'], 'customer' | 'status' | 'report' | 'nothing'>> = {
  message: 'customer',
  call: 'customer',
  change: 'customer',
  reaction: 'customer',
  'number-changed': 'customer',
  'user-id-changed': 'customer',
  status: 'status',
  preference: 'report',
  handover: 'report',
  'template-status': 'report',
  'template-quality': 'report',
  'template-category': 'report',
  'template-components': 'report',
  'number-quality': 'report',
  'account-event': 'report',
  ignored: 'nothing',
  'unreadable-item': 'nothing',
}

/** Includes statuses that arrived before an echo in this batch. */
async function readBatchStatuses(tx: Db, routed: readonly Routed<InboundItem>[]): Promise<StatusBatch> {
  const echoes = routed.flatMap(toEcho)
  const waited = echoes.length === 0 ? [] : await takeWaitingStatuses(tx, echoes)
  const records = [...waited, ...routed.filter(isStatus).map(ofItem(toStatusRecord))]
  return records.length === 0 ? NO_STATUSES : readStatuses(tx, records)
}

const NO_STATUSES: StatusBatch = { records: [], reports: [], unlearnt: new Set() }

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
  const entries: InboundEntry[] = []
  const written: WrittenItem[] = []
  for (const one of items) {
    if (isRenaming(one)) entries.push(ofItem(toIdentityChange)(one))
    const record = isWritten(one) ? ofItem(toRecord)(one) : undefined
    if (record === undefined || !isWritten(one)) continue
    entries.push(record)
    written.push(one)
  }
  const preferences = items.filter(({ item }) => item.kind === 'preference')
  entries.push(...recipients, ...(preferences.length === 0 ? [] : await readIntroductions(tx, preferences)))
  const changes = items.filter(isChange)
  const changeRecords = changes.map(ofItem(toChange))
  const writers = [...changeRecords.flatMap(changersOf), ...entries.flatMap(groupWritersOf)]
  const { sourceType } = deps
  const { recorded, movedCompanies, ...contacts } = await recordInbound(tx, entries, { sourceType, at, writers })
  const changed = changes.length === 0 ? [] : await recordMessageChanges(tx, changeRecords, at)
  const calls = await recordCalls(tx, written, recorded, at)
  const targeting = [...written.flatMap(toReactionTarget), ...changeRecords]
  const targets = targeting.length === 0 ? [] : await findTargets(tx, targeting)

  deps.afterwards.push(() =>
    deps.publish([
      ...movedCompanies.map((companyId): LiveChange => ({ topic: 'all', companyId })),
      ...contacts.changedContacts.map((contact): LiveChange => ({ topic: 'contact', ...contact })),
      ...written.flatMap(({ sender }, index) => toLiveChanges(sender.companyId, recorded[index])),
      ...[...targets, ...calls.values()].flatMap(({ companyId, id, conversationId }): LiveChange[] => [
        { topic: 'message', companyId, id },
        { topic: 'conversation', companyId, id: conversationId },
      ]),
    ]),
  )

  const places = new Map<Conversing, Place>()
  for (const [one, { id, conversationId }] of calls) places.set(one, { messageId: id, conversationId })
  for (const [index, one] of written.entries()) {
    const result = recorded[index]
    if (result?.isNew) places.set(one, result)
  }
  const conversations = new Map(targets.map(({ conversationId, ...target }) => [targetKey(target), conversationId]))
  for (const [index, one] of changes.entries()) {
    const conversationId = conversations.get(targetKey({ ...one.sender, wamid: one.item.originalWamid })) ?? null
    if (changed[index]) places.set(one, { messageId: null, conversationId })
  }
  const fresh = items.filter(isConversational).flatMap((one) => {
    const place = places.get(one)
    return place === undefined ? [] : [{ ...withCall(one, calls.get(one)), ...place }]
  })
  await passOn(deps, tx, fresh, toContactChanges(contacts))
}

/** Copies media of new messages, and passes them on to receivers. */
async function passOn(
  deps: Handling,
  tx: Db,
  fresh: readonly PlacedItem[],
  contactChanges: readonly RecordChange[],
): Promise<void> {
  const media = fresh.flatMap(ofItem(toMedia))
  if (media.length > 0) deps.afterwards.push(await deps.copyMedia(tx, media))
  const toReceivers = fresh.filter(({ sender }) => sender.hasReceivers).flatMap(ofItem(toForwarded))
  deps.afterwards.push(await deps.forward(tx, toReceivers))
  const recordChanges = [...fresh.flatMap(ofItem(toEchoChange)), ...contactChanges]
  if (recordChanges.length > 0) await deps.recordEvents.publish(tx, recordChanges)
}

/** Adds later call events to their messages; returns the changed ones. */
async function recordCalls(
  tx: Db,
  written: readonly WrittenItem[],
  recorded: readonly Recorded[],
  at: Date,
): Promise<Map<Conversing, ChangedCall>> {
  const further = written.filter((_, place) => !recorded[place]?.isNew).filter(isCall)
  if (further.length === 0) return new Map()
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

type Place = Pick<Recorded, 'messageId' | 'conversationId'>
const targetKey = ({ companyId, wamid }: { companyId: number; wamid: string | null }) => `${companyId} ${wamid}`

const toReactionTarget = ({ item, sender: { companyId } }: WrittenItem) =>
  item.kind === 'reaction' ? [{ companyId, targetWamid: item.targetWamid }] : []

/** Reactions have a conversation but no message. */
function toLiveChanges(companyId: number, recorded: Recorded | undefined): LiveChange[] {
  if (!recorded?.isNew) return []
  const { conversationId, messageId } = recorded
  return [
    ...(messageId === null ? [] : [{ topic: 'message' as const, companyId, id: messageId }]),
    ...(conversationId === null ? [] : [{ topic: 'conversation' as const, companyId, id: conversationId }]),
  ]
}
