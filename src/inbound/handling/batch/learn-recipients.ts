import { findUnknownRecipients } from '../../../conversations/recording/recipient-store.ts'
import type { StatusRecord } from '../../../conversations/recording/waiting-status-store.ts'
import type { Db } from '../../../db/connect.ts'
import type { IdentityEvent } from './decide-inbound.ts'
import { toRecipientReport, userIdOf } from './status-records.ts'

/** `unlearnt`: statuses for unknown messages, whose recipients can't be learnt yet. */
type StatusRecipients = { reports: IdentityEvent[]; unlearnt: ReadonlySet<StatusRecord> }

/** Reads new recipient user ids from statuses; most are already known. */
export async function readRecipients(tx: Db, records: readonly StatusRecord[]): Promise<StatusRecipients> {
  const named = records.flatMap((record) => {
    const userId = userIdOf(record)
    return userId === undefined ? [] : [{ record, userId }]
  })
  const unlearnt = new Set<StatusRecord>()
  if (named.length === 0) return { reports: [], unlearnt }
  const reports: IdentityEvent[] = []
  for (const { place, isKnown, account, requestedIdentity } of await findUnknownRecipients(tx, named)) {
    const one = named[place]
    if (one === undefined) continue
    if (!isKnown) unlearnt.add(one.record)
    if (account !== null)
      reports.push(toRecipientReport(one.record, { userId: one.userId, account, requestedIdentity }))
  }
  return { reports, unlearnt }
}
