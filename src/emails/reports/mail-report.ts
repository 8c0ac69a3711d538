import type { MailReport } from '../../mailers/mail-reports.ts'
import type { EmailStatus } from '../email-store.ts'

/** Why no marketing is sent to an address. */
export const SUPPRESSION_REASONS = ['bounce', 'complaint'] as const
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number]

/** The state of a mail that a report may change. */
export type ReportedState = {
  readonly status: EmailStatus
  readonly isSubmitted: boolean
  readonly hasComplaint: boolean
  /** Of the address of its recipient. */
  readonly suppressedFor: SuppressionReason | null
}

/** The changes that a report makes; null: none. */
export type ReportEffect = {
  readonly status: 'bounced' | null
  readonly isFirstComplaint: boolean
  readonly suppressFor: SuppressionReason | null
}

/**
 * The effect of a report. A mail bounces once. A mail that no server can have yet does not: its next attempt decides. A
 * permanent bounce and a complaint suppress the address; a complaint replaces a bounce as the reason, never the reverse.
 */
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
