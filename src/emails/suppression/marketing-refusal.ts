import type { SuppressionReason } from '../reports/mail-report.ts'

/** Why no marketing mail goes to an address. */
export type MarketingRefusal = 'consent' | SuppressionReason

/** The sentences of the API and of failed mails. */
export const MARKETING_REFUSALS: Record<MarketingRefusal, string> = {
  consent: 'The contact has opted out of email marketing',
  bounce: 'The address is suppressed: a mail to it bounced. The operator can end the suppression',
  complaint: 'The address is suppressed: its owner reported a mail as spam. The operator can end the suppression',
}
