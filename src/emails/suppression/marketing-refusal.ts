import type { SuppressionReason } from '../reports/mail-report.ts'

export type MarketingRefusal = 'consent' | SuppressionReason

export const MARKETING_REFUSALS: Record<MarketingRefusal, string> = {
  consent: 'The contact has opted out of email marketing',
  bounce: 'The address is suppressed: a mail to it bounced. The operator can end the suppression',
  complaint: 'The address is suppressed: its owner reported a mail as spam. The operator can end the suppression',
}
