import type { Pool } from '../db/connect.ts'
import { createStatementBatcher } from '../db/statement-batcher.ts'
import type { Worker } from '../queue/worker.ts'
import type { EmailDeps } from './email.ts'
import { type AcceptedEmail, EMAIL_SEND, insertEmails } from './email-store.ts'

/**
 * Emails of one statement that are sent directly at most: more are left to claims, which send them beside the requests that
 * come, and not before them.
 */
const MOST_DIRECT = 4

export type EmailWorker = Pick<Worker, 'acceptDirect' | 'dispatch' | 'wake'>

/** Emails that one statement accepts at most, and their bytes; emails that wait for a statement, of all companies. */
const BOUNDS = {
  maxItems: 100,
  maxBytes: 8 * 1024 * 1024,
  maxWaiting: 2_000,
  maxWaitingBytes: 32 * 1024 * 1024,
  // Less than a request may wait for the database: an email whose caller was answered 503 is not accepted later.
  maxWaitMs: 2_000,
  maxRunning: 2,
}

/**
 * Stores emails with their jobs; those of concurrent requests share statements. The worker of this process, if it has one and
 * room, sends them from the commit on.
 */
export function createEmailAcceptance(pool: Pool, worker: () => EmailWorker | undefined): EmailDeps['acceptEmail'] {
  const accept = createStatementBatcher<{ email: AcceptedEmail; bytes: number }, boolean>({
    ...BOUNDS,
    run: async (items) => {
      const dispatch = items.length <= MOST_DIRECT ? worker()?.acceptDirect(EMAIL_SEND) : undefined
      const emails = items.map(({ email }) => email)
      const { areAccepted, leased, hasWaiting } = await insertEmails(pool, emails, dispatch)
      if (dispatch !== undefined) worker()?.dispatch(leased, dispatch)
      if (hasWaiting) worker()?.wake(EMAIL_SEND)
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
