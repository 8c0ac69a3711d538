import type { MailReport } from '../../mailers/mail-reports.ts'
import type { EmailStatus } from '../email-store.ts'

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
