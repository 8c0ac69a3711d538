import { createBatcher } from '../batching/batch.ts'
import { hasRefusedEmail } from '../contacts/consent/shown-consent.ts'
import { findContactByEmail } from '../contacts/contact-store.ts'
import { upsertContacts } from '../contacts/write/contact-upsert.ts'
import { onBehalfOf } from '../db/pool/fair-pool.ts'
import type { DeliveryDeps } from '../emails/delivery/email-delivery.ts'
import type { EmailDeps } from '../emails/email.ts'
import { type AcceptedEmail, insertEmails } from '../emails/email-store.ts'
import { findSuppression } from '../emails/suppression/suppression-store.ts'
import type { TrackingDeps } from '../emails/tracking/tracking-routes.ts'
import type { RecordChange } from '../record-change.ts'
import { emailKey } from '../text/email-address.ts'
import type { Deps } from './deps.ts'

/** Emails that one statement accepts at most, and their bytes; emails that wait for a statement, of all companies. */
const ACCEPTING = {
  maxItems: 100,
  maxBytes: 8 * 1024 * 1024,
  maxWaiting: 2_000,
  maxWaitingBytes: 32 * 1024 * 1024,
  // Less than a request may wait for the database: an email whose caller was answered 503 is not accepted later.
  maxWaitMs: 2_000,
  maxRunning: 2,
}
const UNSUBSCRIBED = { clientId: null, source: 'unsubscribe' }

function createAccept(pool: Deps['pool']): EmailDeps['acceptEmail'] {
  const accept = createBatcher<{ email: AcceptedEmail; bytes: number }, boolean>({
    ...ACCEPTING,
    run: (items) =>
      insertEmails(
        pool,
        items.map(({ email }) => email),
      ),
    companyOf: ({ email }) => email.companyId,
    bytesOf: ({ bytes }) => bytes,
  })
  return (email) => accept({ email, bytes: bytesOf(email) })
}

const bytesOf = ({ html, text, subject, headers, tracking }: AcceptedEmail): number =>
  Buffer.byteLength(html) + Buffer.byteLength(`${text ?? ''}${subject}${JSON.stringify([headers, tracking])}`)

/** The dependencies of email: accepting, sending and tracking. Its questions about contacts are answered here. */
export function createEmailDeps(deps: Deps): EmailDeps & DeliveryDeps & TrackingDeps {
  const { db, pool, config, log, recordEvents: events } = deps
  const unsubscribe = async (companyId: number, emailId: number, address: string) => {
    const unsubscribed: RecordChange = { event: 'email.status', companyId, id: emailId, change: 'unsubscribed' }
    const existing = await findContactByEmail(db, companyId, address)
    // An address that is no contact becomes one, so that its opt-out can be seen and changed.
    const write = { email: address, emailConsent: false, ...(existing === undefined && { source: 'Email' }) }
    const contacts = await upsertContacts(db, companyId, [write], UNSUBSCRIBED, {
      events,
      alsoCommit: (tx) => events.publish(tx, [unsubscribed]),
    })
    deps.publish(contacts.map(({ id }) => ({ topic: 'contact', companyId, id })))
  }
  return {
    ...deps,
    baseUrl: config.baseUrl,
    smtpUrl: config.smtpUrl,
    acceptEmail: createAccept(pool),
    onAccepted: deps.emailsAccepted.raise,
    bounceDomain: config.bounceDomain,
    readsPostedReports: config.mailReportsSecret !== undefined,
    findMarketingRefusal: async (companyId, address) => {
      const suppression = await findSuppression(db, companyId, emailKey(address))
      if (suppression !== undefined) return suppression.reason
      return (await hasRefusedEmail(db, companyId, address)) ? 'consent' : null
    },
    unsubscribe: ({ companyId, emailId, recipient }) =>
      onBehalfOf({ companyId, isHeavy: false, isAwaited: () => true }, () =>
        unsubscribe(companyId, emailId, recipient),
      ),
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
