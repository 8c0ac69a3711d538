import type { LiveChange } from '../../changes/live-change.ts'
import type { RecordChange } from '../../changes/record-change.ts'
import { findUnknownRecipients, listRecipients } from '../../conversations/recording/recipient-store.ts'
import {
  type MovedMessage,
  type RecordedStatuses,
  recordStatuses,
  toStatusChange,
} from '../../conversations/recording/status-store.ts'
import type { StatusRecord } from '../../conversations/recording/waiting-store.ts'
import { isBillable } from '../../conversations/usage/usage.ts'
import type { Db } from '../../db/connect.ts'
import { type Preference, recordPreferences } from '../../people/consent/preference.ts'
import { isUserId } from '../../people/people.ts'
import type { StatusItem } from '../../providers/events/event-item.ts'
import { isNotOnWhatsapp, isOptOut } from '../../providers/graph-answer.ts'
import type { IdentityEvent } from './batch/decide-inbound.ts'
import { reportedTimeOf, writerIdentities } from './batch/item-records.ts'
import type { Routed } from './route-items.ts'

export type StatusDeps = {
  giveBackPlaces: (tx: Db, messages: readonly { companyId: number; id: number }[]) => Promise<void>
}

export type Consequences = { recordChanges: RecordChange[]; liveChanges: LiveChange[] }

/** Records statuses, returned daily-limit places and opt-outs made at the provider. */
export async function handleStatuses(
  deps: StatusDeps,
  tx: Db,
  { records, unlearnt }: StatusBatch,
  at: Date,
): Promise<Consequences> {
  const recorded = await recordStatuses(tx, records, at, unlearnt)
  const undeliverable = recorded.failed.filter(isNotOnWhatsapp)
  if (undeliverable.length > 0) await deps.giveBackPlaces(tx, undeliverable)
  const contacts = await recordPreferences(tx, await readOptOuts(tx, records, recorded))
  return {
    recordChanges: [
      ...recorded.moved.map(toStatusChange),
      ...contacts.map((contact): RecordChange => ({ event: 'contact.changed', change: 'consent', ...contact })),
    ],
    liveChanges: [
      ...recorded.moved.map(toMessageChange),
      ...contacts.map((contact): LiveChange => ({ topic: 'contact', ...contact })),
    ],
  }
}

const toMessageChange = ({ companyId, id }: MovedMessage): LiveChange => ({ topic: 'message', companyId, id })

async function readOptOuts(
  tx: Db,
  records: readonly StatusRecord[],
  { matches }: RecordedStatuses,
): Promise<Preference[]> {
  const optOuts = records.flatMap((record, ord) =>
    record.status === 'failed' && isOptOut(record.error)
      ? [{ record, match: matches.find((one) => one.ord === ord) }]
      : [],
  )
  if (optOuts.length === 0) return []
  const recipients = await listRecipients(
    tx,
    optOuts.flatMap(({ match }) => match ?? []),
  )
  return optOuts.flatMap(({ record, match }) => {
    const ofMessage = recipients.filter(
      ({ companyId, messageId }) => companyId === match?.companyId && messageId === match.id,
    )
    return toOptOut(record, [...record.identities, ...ofMessage.map(({ identity }) => identity)])
  })
}

/** Builds a status record. `enqueued` maps the provider id to a wamid; equal values mean no wamid. */
export function toStatusRecord({ item, sender, receivedAt }: Routed<StatusItem>): StatusRecord {
  const { recipientPhone, recipientUserId } = item
  const messageId = /^[1-9][0-9]{0,14}$/.test(item.callbackData ?? '') ? Number(item.callbackData) : null
  return {
    companyId: sender.companyId,
    senderId: sender.id,
    wamid: item.wamid === item.providerMessageId ? null : item.wamid,
    providerMessageId: item.providerMessageId,
    messageId,
    status: item.status === 'enqueued' ? null : item.status,
    occurredAt: reportedTimeOf({ item, receivedAt }),
    arrivedAt: receivedAt,
    recipientPhone,
    identities: writerIdentities({ phone: recipientPhone, userId: recipientUserId }),
    pricing: item.pricing && { ...item.pricing, billable: isBillable(item.pricing) },
    error: item.error,
    waitingId: null,
  }
}

/** Returns the recipient's user id. */
const userIdOf = ({ identities }: StatusRecord): string | undefined => identities.find(isUserId)

/** Builds the opt-out when a failed message reports a customer who stopped marketing at the provider. */
function toOptOut(
  { companyId, wamid, providerMessageId, occurredAt, arrivedAt }: StatusRecord,
  identities: readonly string[],
): Preference[] {
  if (identities.length === 0) return []
  const saidAt = occurredAt ?? arrivedAt
  const eventId = `failed ${wamid ?? providerMessageId}`
  return [{ companyId, identities: [...new Set(identities)], value: false, saidAt, eventId, arrivedAt }]
}

/** Builds the identity event for a status recipient. */
function toRecipientReport(
  { companyId, recipientPhone: phone, occurredAt, arrivedAt }: StatusRecord,
  named: { userId: string; account: string; requestedIdentity: string | null },
): IdentityEvent {
  const report = { phone, ...named, at: (occurredAt ?? arrivedAt).getTime() }
  return { kind: 'recipient', companyId, wamid: null, report }
}

/** `unlearnt`: statuses for unknown messages, whose recipients can't be learnt yet. */
export type StatusBatch = {
  records: readonly StatusRecord[]
  reports: IdentityEvent[]
  unlearnt: ReadonlySet<StatusRecord>
}

/** Reads new recipient user ids from statuses; most are already known. */
export async function readStatuses(tx: Db, records: readonly StatusRecord[]): Promise<StatusBatch> {
  const named = records.flatMap((record) => {
    const userId = userIdOf(record)
    return userId === undefined ? [] : [{ record, userId }]
  })
  const unlearnt = new Set<StatusRecord>()
  if (named.length === 0) return { records, reports: [], unlearnt }
  const reports: IdentityEvent[] = []
  for (const { place, isKnown, account, requestedIdentity } of await findUnknownRecipients(tx, named)) {
    const one = named[place]
    if (one === undefined) continue
    if (!isKnown) unlearnt.add(one.record)
    if (account !== null)
      reports.push(toRecipientReport(one.record, { userId: one.userId, account, requestedIdentity }))
  }
  return { records, reports, unlearnt }
}
