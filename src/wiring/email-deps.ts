import { unsubscribe } from '../contacts/write/unsubscribe.ts'
import { onBehalfOf } from '../db/pool/fair-pool.ts'
import { createEmailAcceptance } from '../emails/accept-emails.ts'
import type { DeliveryDeps } from '../emails/delivery/email-delivery.ts'
import type { EmailDeps } from '../emails/email.ts'
import { suppressRefused } from '../emails/reports/record-report.ts'
import { findSuppression } from '../emails/suppression/suppression.ts'
import type { TrackingDeps } from '../emails/tracking/tracking-routes.ts'
import { hasRefusedEmail } from '../people/consent/shown-consent.ts'
import { rekeyMailboxes } from '../people/matching/mailbox.ts'
import { emailKey } from '../platform/text/email-address.ts'
import type { Deps } from './deps.ts'

export function createEmailDeps(deps: Deps): EmailDeps & DeliveryDeps & TrackingDeps {
  const { db, config, log } = deps
  return {
    ...deps,
    baseUrl: config.baseUrl,
    smtpUrl: config.smtpUrl,
    acceptEmail: createEmailAcceptance(deps.pool, deps.emailsDue.raise),
    bounceDomain: config.bounceDomain,
    readsPostedReports: config.mailReportsSecret !== undefined,
    findMarketingRefusal: async (companyId, address) => {
      const suppression = await findSuppression(db, companyId, emailKey(address))
      if (suppression !== undefined) return suppression.reason
      await rekeyMailboxes(db, companyId, [emailKey(address)])
      return (await hasRefusedEmail(db, companyId, address)) ? 'consent' : null
    },
    suppressRefused: async (companyId, recipient, message) => {
      const id = await suppressRefused(deps, companyId, recipient, message)
      if (id !== undefined) deps.publish([{ topic: 'contact', companyId, id }])
    },
    unsubscribe: ({ companyId, ...email }) =>
      onBehalfOf({ companyId, isHeavy: false, isAwaited: () => true }, () => unsubscribe(deps, companyId, email)),
    onAttempt: ({ companyId, id }, server, outcome, durationMs) => {
      deps.mailHealth.record(server, companyId, outcome)
      deps.metrics.emails.inc({ outcome: outcome.kind === 'unavailable' ? outcome.fault : outcome.kind })
      const message = 'message' in outcome ? outcome.message : undefined
      const line = {
        companyId,
        emailId: id,
        server,
        outcome: outcome.kind,
        message,
        durationMs: Math.round(durationMs),
      }
      log.info(line, 'email.attempted')
    },
  }
}
