import type { LiveChange } from '../../changes/live-change.ts'
import type { RecordChange } from '../../changes/record-change.ts'
import { listRecipients } from '../../conversations/recording/recipient-store.ts'
import {
  type MovedMessage,
  type RecordedStatuses,
  recordStatuses,
  toStatusChange,
} from '../../conversations/recording/status-store.ts'
import type { StatusRecord } from '../../conversations/recording/waiting-status-store.ts'
import type { Db } from '../../db/connect.ts'
import { type Preference, recordPreferences } from '../../people/consent/preference.ts'
import { isNotOnWhatsapp, isOptOut } from '../../providers/graph-answer.ts'
import { toOptOut } from './batch/status-records.ts'

export type StatusDeps = {
  giveBackPlaces: (tx: Db, messages: readonly { companyId: number; id: number }[]) => Promise<void>
}

type StatusConsequences = { recordChanges: RecordChange[]; liveChanges: LiveChange[] }

/** Records statuses, returned daily-limit places and opt-outs made at the provider. */
export async function handleStatuses(
  deps: StatusDeps,
  tx: Db,
  records: readonly StatusRecord[],
  at: Date,
  unlearnt: ReadonlySet<StatusRecord>,
): Promise<StatusConsequences> {
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
