import { createBatcher } from '../batch.ts'
import { hasRefusedEmail, recordConsent } from '../contacts/consent-store.ts'
import { findContactByEmail } from '../contacts/contact-store.ts'
import { upsertContacts } from '../contacts/contact-upsert.ts'
import type { EmailDeps } from '../emails/email.ts'
import type { DeliveryDeps } from '../emails/email-delivery.ts'
import { type AcceptedEmail, insertEmails } from '../emails/email-store.ts'
import type { TrackingDeps } from '../emails/tracking-routes.ts'
import type { Deps } from './deps.ts'

const MAX_BATCH = 100
const UNSUBSCRIBED = { clientId: null, source: 'unsubscribe' }

/** What email works with: accepting, sending and tracking. What it asks about contacts is asked here. */
export function createEmailDeps(deps: Deps): EmailDeps & DeliveryDeps & TrackingDeps {
  const { db, config, log } = deps
  return {
    ...deps,
    baseUrl: config.baseUrl,
    smtpUrl: config.smtpUrl,
    acceptEmail: createBatcher<AcceptedEmail, boolean>({
      run: (emails) => insertEmails(db, emails),
      maxItems: MAX_BATCH,
      maxRunning: 2,
      companyOf: ({ companyId }) => companyId,
    }),
    onAccepted: deps.emailsAccepted.raise,
    hasRefusedMarketing: (companyId, address) => hasRefusedEmail(db, companyId, address),
    unsubscribe: async (companyId, address) => {
      const contact = await findContactByEmail(db, companyId, address)
      // An address that is no contact becomes one, so that its opt-out can be seen and changed.
      if (contact) await recordConsent(db, companyId, contact.id, 'email', false, UNSUBSCRIBED)
      else await upsertContacts(db, companyId, [{ email: address, emailConsent: false, source: 'Email' }], UNSUBSCRIBED)
    },
    onAttempt: ({ companyId, id }, server, outcome, durationMs) => {
      deps.mailHealth.record(server, companyId, outcome)
      deps.metrics.emails.inc({ outcome: outcome.kind === 'unavailable' ? outcome.fault : outcome.kind })
      const words = 'words' in outcome ? outcome.words : undefined
      const line = { companyId, emailId: id, server, outcome: outcome.kind, words, durationMs: Math.round(durationMs) }
      log.info(line, 'email.attempted')
    },
  }
}
