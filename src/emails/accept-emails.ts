import type { Pool } from '../db/connect.ts'
import { createStatementBatcher } from '../db/statement-batcher.ts'
import type { EmailDeps } from './email.ts'
import { type AcceptedEmail, insertEmails } from './email-store.ts'

/** Emails and bytes per statement, and waiting for one, across companies. */
const BOUNDS = {
  maxItems: 100,
  maxBytes: 8 * 1024 * 1024,
  maxWaiting: 2_000,
  maxWaitingBytes: 32 * 1024 * 1024,
  // Less than a request's database timeout: an email answered with 503 must not be accepted later.
  maxWaitMs: 2_000,
  maxRunning: 2,
}

/** Builds the batcher that stores emails with their jobs. Calls `onAccepted` after the commit. */
export function createEmailAcceptance(pool: Pool, onAccepted: () => void): EmailDeps['acceptEmail'] {
  const accept = createStatementBatcher<{ email: AcceptedEmail; bytes: number }, boolean>({
    ...BOUNDS,
    run: async (items) => {
      const areAccepted = await insertEmails(
        pool,
        items.map(({ email }) => email),
      )
      onAccepted()
      return areAccepted
    },
    companyOf: ({ email }) => email.companyId,
    bytesOf: ({ bytes }) => bytes,
  })
  return (email) => accept({ email, bytes: bytesOf(email) })
}

const bytesOf = ({ html, text, subject, headers, tracking }: AcceptedEmail): number =>
  Buffer.byteLength(html) +
  tracking.replacements.length +
  Buffer.byteLength(`${text ?? ''}${subject}${JSON.stringify([headers, tracking.targets])}`)
