import type { RecordChange, RecordEvents } from '../../changes/record-change.ts'
import type { Db, Pool } from '../../db/connect.ts'
import { onBehalfOf } from '../../db/pool/fair-pool.ts'
import type { MailReport } from '../../mailers/mail-reports.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import {
  findSuppressedContact,
  findSuppression,
  type Suppression,
  writeSuppression,
} from '../suppression/suppression-store.ts'
import type { ReportToken } from '../tracking/tracking-token.ts'
import { decideReport } from './mail-report.ts'
import { lockReportedEmail, writeReport } from './mail-report-store.ts'

export type ReportDeps = {
  db: Pool
  recordEvents: RecordEvents
  /** Called after the commit. `contactId` is the contact whose address was suppressed. */
  onReport(report: RecordedReport): void
}

export type RecordedReport = {
  companyId: number
  emailId: number
  kind: MailReport['kind']
  contactId: number | undefined
}

/**
 * Records a report about the mail that the token names: the state of the mail, the suppression of its recipient's address,
 * and the events. When this resolves, the report is on disk. A report about no stored mail changes nothing.
 */
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

/**
 * Suppresses the address of a mail that its server refused for good in the session: the refusal counts like the same one in a report.
 * Returns the contact with the address, if the suppression is new.
 */
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

/** Suppresses an address, and publishes the change of its contact, whose id it returns. */
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
