import type { Pool } from '../../db/connect.ts'
import { onBehalfOf } from '../../db/pool/fair-pool.ts'
import type { MailReport } from '../../mailers/mail-reports.ts'
import type { RecordChange, RecordEvents } from '../../record-change.ts'
import { emailKey } from '../../text/email-address.ts'
import { findSuppressedContact, findSuppression, writeSuppression } from '../suppression/suppression-store.ts'
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
      let contactId: number | undefined
      if (effect.suppressFor !== null) {
        await writeSuppression(tx, companyId, { address, reason: effect.suppressFor, detail: report.message })
        contactId = await findSuppressedContact(tx, companyId, address)
        if (contactId !== undefined)
          changes.push({ event: 'contact.changed', companyId, id: contactId, change: 'updated' })
      }
      await deps.recordEvents.publish(tx, changes)
      return { companyId, emailId, kind: report.kind, contactId }
    }),
  )
  if (recorded !== undefined) deps.onReport(recorded)
}
