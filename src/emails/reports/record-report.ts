import type { RecordChange, RecordEvents } from '../../changes/record-change.ts'
import type { Db, Pool } from '../../db/connect.ts'
import { onBehalfOf } from '../../db/pool/fair-pool.ts'
import type { MailReport } from '../../mailers/mailer.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import {
  findSuppressedContact,
  findSuppression,
  type Suppression,
  writeSuppression,
} from '../suppression/suppression.ts'
import type { ReportToken } from '../tracking/tracking-token.ts'
import { decideReport, lockReportedEmail, writeReport } from './mail-report.ts'

type ReportDeps = {
  db: Pool
  recordEvents: RecordEvents
  onReport(report: RecordedReport): void
}

type RecordedReport = {
  companyId: number
  emailId: number
  kind: MailReport['kind']
  contactId: number | undefined
}

/** Records a report's status, suppression and events, on disk once resolved. Ignores unknown mails. */
export async function recordReport(deps: ReportDeps, token: ReportToken, report: MailReport): Promise<void> {
  const { companyId, emailId } = token
  const recorded = await onBehalfOf({ companyId, isHeavy: false, isAwaited: () => true }, () =>
    deps.db.begin(async (tx) => {
      const email = await lockReportedEmail(tx, token)
      if (email === undefined) return undefined
      const address = emailKey(email.recipient)
      const suppression = await findSuppression(tx, companyId, address)
      const effect = decideReport({ ...email, suppressedFor: suppression?.reason ?? null }, report)
      await writeReport(tx, companyId, emailId, effect, report.message)
      const changes: RecordChange[] = []
      if (effect.status !== null) changes.push({ event: 'email.status', companyId, id: emailId, change: effect.status })
      await deps.recordEvents.publish(tx, changes)
      const contactId =
        effect.suppressFor === null
          ? undefined
          : await suppress(tx, deps, companyId, { address, reason: effect.suppressFor, detail: report.message })
      return { companyId, emailId, kind: report.kind, contactId }
    }),
  )
  if (recorded !== undefined) deps.onReport(recorded)
}

/** Suppresses an address its server refused permanently. Returns the contact if newly suppressed. */
export function suppressRefused(
  { db, recordEvents }: Pick<ReportDeps, 'db' | 'recordEvents'>,
  companyId: number,
  recipient: string,
  detail: string,
): Promise<number | undefined> {
  const address = emailKey(recipient)
  return db.begin(async (tx) => {
    if ((await findSuppression(tx, companyId, address)) !== undefined) return undefined
    return suppress(tx, { recordEvents }, companyId, { address, reason: 'bounce', detail })
  })
}

async function suppress(
  tx: Db,
  { recordEvents }: Pick<ReportDeps, 'recordEvents'>,
  companyId: number,
  suppression: Omit<Suppression, 'createdAt'>,
): Promise<number | undefined> {
  await writeSuppression(tx, companyId, suppression)
  const id = await findSuppressedContact(tx, companyId, suppression.address)
  if (id !== undefined) {
    await recordEvents.publish(tx, [{ event: 'contact.changed', companyId, id, change: 'updated' }])
  }
  return id
}
