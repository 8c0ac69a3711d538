import type { Db } from '../../db/connect.ts'
import type { MailReport } from '../../mailers/mailer.ts'
import type { EmailStatus } from '../email-store.ts'
import type { ReportToken } from '../tracking/tracking-token.ts'

const SUPPRESSION_REASONS = ['bounce', 'complaint'] as const
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number]

export type ReportedState = {
  readonly status: EmailStatus
  readonly isSubmitted: boolean
  readonly hasComplaint: boolean
  readonly suppressedFor: SuppressionReason | null
}

export type ReportEffect = {
  readonly status: 'bounced' | null
  readonly isFirstComplaint: boolean
  readonly suppressFor: SuppressionReason | null
}

/** Bounces a submitted mail once. Permanent bounces suppress the address; a complaint outranks a bounce as reason. */
export function decideReport(state: ReportedState, report: MailReport): ReportEffect {
  if (report.kind === 'complaint') {
    return {
      status: null,
      isFirstComplaint: !state.hasComplaint,
      suppressFor: state.suppressedFor === 'complaint' ? null : 'complaint',
    }
  }
  const mayHaveArrived = state.status !== 'pending' || state.isSubmitted
  return {
    status: mayHaveArrived && state.status !== 'bounced' ? 'bounced' : null,
    isFirstComplaint: false,
    suppressFor: report.isPermanent && state.suppressedFor === null ? 'bounce' : null,
  }
}

export async function isReportToken(db: Db, { companyId, emailId, tail, mac }: ReportToken): Promise<boolean> {
  const rows = await db`
    select
    from emails
    where (company_id, id) = (${companyId}, ${emailId})
      and substring(sha256(secret || decode(${tail}, 'hex')) for 12) = decode(${mac}, 'hex')
  `
  return rows.length > 0
}

type ReportedEmail = Omit<ReportedState, 'suppressedFor'> & { recipient: string }

/** Locks the mail until the transaction ends; returns undefined if the token is invalid. */
export async function lockReportedEmail(
  tx: Db,
  { companyId, emailId, tail, mac }: ReportToken,
): Promise<ReportedEmail | undefined> {
  const [email] = await tx<ReportedEmail[]>`
    select recipient, status, submitted_at is not null as is_submitted, complained_at is not null as has_complaint
    from emails
    where (company_id, id) = (${companyId}, ${emailId})
      and substring(sha256(secret || decode(${tail}, 'hex')) for 12) = decode(${mac}, 'hex')
    for no key update
  `
  return email
}

/** Writes a report's changes. A bounce proves acceptance, so a mail not yet `sent` is also counted as sent. */
export async function writeReport(
  tx: Db,
  companyId: number,
  emailId: number,
  { status, isFirstComplaint }: ReportEffect,
  message: string,
): Promise<void> {
  if (status === null && !isFirstComplaint) return
  const isBounce = status !== null
  await tx`
    with email as materialized (
      select
        template_id,
        (${isBounce} and status in ('pending', 'failed'))::integer as newly_sent,
        (open_count > 0)::integer as opened,
        (click_count > 0)::integer as clicked
      from emails
      where (company_id, id) = (${companyId}, ${emailId})
    ),
    reported as (
      update emails
      set
        status = coalesce(${status}::text, status),
        bounced_at = case when ${isBounce} then clock_timestamp() else bounced_at end,
        failure_reason = case when ${isBounce} then ${message} else failure_reason end,
        completed_at = coalesce(completed_at, case when ${isBounce} then clock_timestamp() end),
        complained_at = case when ${isFirstComplaint} then clock_timestamp() else complained_at end
      where (company_id, id) = (${companyId}, ${emailId})
    ),
    forgotten as (
      delete from email_contents where ${isBounce} and (company_id, email_id) = (${companyId}, ${emailId})
    )
    update email_template_counts counts
    set
      sent = counts.sent + email.newly_sent,
      opened = counts.opened + email.newly_sent * email.opened,
      clicked = counts.clicked + email.newly_sent * email.clicked,
      bounced = counts.bounced + ${isBounce ? 1 : 0},
      complained = counts.complained + ${isFirstComplaint ? 1 : 0}
    from email
    where (counts.company_id, counts.template_id) = (${companyId}, email.template_id)
  `
}
