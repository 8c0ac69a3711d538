import { type RecordEvents, writeWithEvents } from '../../changes/record-change.ts'
import type { Pool } from '../../db/connect.ts'
import { retryUntilAvailable } from '../../db/pool/failure.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import type { Mail, Mailer, MailOutcome } from '../../mailers/mailer.ts'
import type { Clock } from '../../platform/clock.ts'
import { wireAddress } from '../../platform/text/email-address.ts'
import { type BatchKind, done, type Job, type Outcome, retryAfter, selfCompleted } from '../../queue/job.ts'
import type { Cipher } from '../../secrets/secrets.ts'
import { EMAIL_SEND } from '../email-store.ts'
import { findTrackingOf, prepareTexts } from '../rendering/mail-worker.ts'
import { refusesAddress } from '../reports/refusal.ts'
import { MARKETING_REFUSALS, type MarketingRefusal } from '../suppression/suppression.ts'
import { unsubscribeHeaders } from '../tracking/track-email.ts'
import { watchEmails } from '../tracking/tracking-store.ts'
import { createReportToken, returnPath } from '../tracking/tracking-token.ts'
import {
  completeEmails,
  type EmailCompletion,
  type EmailKey,
  type EmailToSend,
  markSubmitted,
  readEmailsToSend,
  type Submission,
} from './email-delivery-store.ts'

/** Must match `insert_emails`. */
export const emailLane = (companyId: number): string => `email:${companyId}`

const BATCH = 10
/** Concurrent batches per company, across processes. */
const LANE_CAP = 6
const CONCURRENCY = 60
const MAX_BATCH = 200
/** Between outcome writes; only the next claim waits. */
const COMPLETE_SPACING_MS = 20
/** Doubles after each temporary refusal, up to `LONGEST_WAIT_MS`, for up to `GIVE_UP_AFTER_MS`. */
const FIRST_WAIT_MS = 60_000
const AFTER_OUTAGE_MS = 1_000
const LONGEST_WAIT_MS = 60 * 60_000
const GIVE_UP_AFTER_MS = 24 * 60 * 60_000

export const OUTCOME_UNKNOWN =
  'The mail server had the whole mail and its answer was lost: it may have been delivered; it is not repeated'
const NO_SERVER: MailOutcome = {
  kind: 'unavailable',
  fault: 'not-configured',
  message: 'No mail server is set: set SMTP_URL, or smtpUrl in the email settings of the company',
}

export type DeliveryDeps = {
  db: Pool
  recordEvents: RecordEvents
  clock: Clock
  cipher: Cipher
  mailer: Mailer
  baseUrl: string
  smtpUrl: string | undefined
  /** Undefined: bounces go to the sender. */
  bounceDomain: string | undefined
  readsPostedReports: boolean
  findMarketingRefusal(companyId: number, address: string): Promise<MarketingRefusal | null>
  suppressRefused(companyId: number, recipient: string, message: string): Promise<void>
  onAttempt(email: EmailKey, server: 'company' | 'service', outcome: MailOutcome, durationMs: number): void
}

/**
 * Returns the job kind that sends one mail, at most once. One attempt marks the mail as submitted before the end of
 * data; a temporary refusal removes the mark. A crash before the mark delivered nothing and is retried. After it the
 * mail may be delivered, so fails: SMTP can't be queried and a second copy can't be recalled.
 */
export function emailSendKind(deps: DeliveryDeps): BatchKind {
  const steps = createSteps(deps)
  return {
    kind: EMAIL_SEND,
    batch: BATCH,
    laneCap: LANE_CAP,
    concurrency: CONCURRENCY,
    // Only internal faults count, and must never discard the mail.
    maxAttempts: 1_000_000,
    handle: (jobs, signal) => deliverAll(deps, steps, jobs, signal),
  }
}

type Steps = ReturnType<typeof createSteps>

function createSteps({ db, recordEvents: events }: DeliveryDeps) {
  const options = { maxItems: MAX_BATCH, maxRunning: 1 }
  return {
    confirmSubmission: createStatementBatcher({ ...options, run: (items: Submission[]) => markSubmitted(db, items) }),
    complete: createStatementBatcher({
      ...options,
      spacingMs: COMPLETE_SPACING_MS,
      run: async (items: EmailCompletion[]) => {
        const companyIds = items.map(({ companyId }) => companyId)
        await writeWithEvents({ db, events }, 'email.status', companyIds, {
          watch: (tx) => watchEmails(tx, items),
          write: (tx) => completeEmails(tx, items),
        })
        return items.map(() => undefined)
      },
    }),
  }
}

/** Sends mails concurrently, one read at a time; throws a fault only after all have settled. */
async function deliverAll(
  deps: DeliveryDeps,
  steps: Steps,
  jobs: readonly Job[],
  signal: AbortSignal,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  while (outcomes.length < jobs.length) {
    const left = jobs.slice(outcomes.length)
    const emails = await readEmailsToSend(deps.db, left.map(keyOf))
    const deliveries = left
      .slice(0, emails.length)
      .map((job, place) => deliver(deps, steps, job, emails[place], signal))
    for (const delivery of await Promise.allSettled(deliveries)) {
      if (delivery.status === 'rejected') throw delivery.reason
      outcomes.push(delivery.value)
    }
  }
  return outcomes
}

function keyOf({ companyId, subjectId: id }: Job): EmailKey {
  if (companyId === undefined) throw new Error('A mail belongs to a company')
  return { companyId, id }
}

async function deliver(
  deps: DeliveryDeps,
  steps: Steps,
  job: Job,
  email: EmailToSend | undefined,
  signal: AbortSignal,
): Promise<Outcome> {
  if (email === undefined) return done
  const { companyId, id } = email
  const complete = async (status: EmailCompletion['status'], failureReason: string | null = null) => {
    // Without its outcome, the mail would count as unknown.
    await retryUntilAvailable(() => steps.complete({ companyId, id, status, failureReason, job }))
    return selfCompleted
  }

  if (email.submittedAt !== null) return complete('failed', OUTCOME_UNKNOWN)
  const refusal = email.isMarketing ? await deps.findMarketingRefusal(companyId, email.recipient) : null
  if (refusal !== null) return complete('failed', MARKETING_REFUSALS[refusal])
  const outcome = await attempt(deps, steps, email, signal)

  switch (outcome.kind) {
    case 'accepted':
      return complete('sent')
    case 'unknown':
      return complete('failed', OUTCOME_UNKNOWN)
    case 'withheld':
      signal.throwIfAborted()
      return retryAfter(FIRST_WAIT_MS, { counts: false })
    case 'interrupted':
      // The mark may have been written, but the mail was not ended.
      await complete('pending')
      return retryAfter(AFTER_OUTAGE_MS, { counts: false, error: outcome.message })
    default:
      return refused(deps, job.attempts, email, outcome, complete)
  }
}

type Interrupted = { kind: 'interrupted'; message: string }

async function attempt(
  deps: DeliveryDeps,
  steps: Steps,
  email: EmailToSend,
  signal: AbortSignal,
): Promise<MailOutcome | Interrupted> {
  const { companyId, id } = email
  let fault: unknown
  const smtpUrl = email.smtpUrl === null ? deps.smtpUrl : deps.cipher.decrypt(email.smtpUrl)
  const startedAt = performance.now()
  const { mail, targets } = await compose(deps, email)
  const confirmSubmission = async () => {
    if (signal.aborted) return false
    return steps.confirmSubmission({ companyId, id, targets }).catch((error: unknown) => {
      fault = error
      throw error
    })
  }
  const outcome = smtpUrl === undefined ? NO_SERVER : await deps.mailer.send(smtpUrl, mail, confirmSubmission)
  if (fault !== undefined) return { kind: 'interrupted', message: String(fault) }
  deps.onAttempt(email, email.smtpUrl === null ? 'service' : 'company', outcome, performance.now() - startedAt)
  return outcome
}

async function refused(
  deps: DeliveryDeps,
  attempts: number,
  email: EmailToSend,
  outcome: Extract<MailOutcome, { kind: 'refused' | 'unavailable' }>,
  complete: (status: EmailCompletion['status'], failureReason?: string) => Promise<Outcome>,
): Promise<Outcome> {
  const isTemporary = outcome.kind === 'unavailable' || outcome.isTemporary
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** attempts, LONGEST_WAIT_MS)
  const nextAt = deps.clock.now().getTime() + waitMs
  if (!isTemporary && refusesAddress({ text: outcome.message })) {
    // Must precede the outcome, which completes the job.
    await deps.suppressRefused(email.companyId, email.recipient, outcome.message)
  }
  if (!isTemporary || nextAt > email.createdAt.getTime() + GIVE_UP_AFTER_MS) return complete('failed', outcome.message)
  await complete('pending')
  return retryAfter(waitMs, { error: outcome.message })
}

async function compose(deps: DeliveryDeps, email: EmailToSend): Promise<{ mail: Mail; targets: readonly string[] }> {
  const tracking = email.tracking ?? (await findTrackingOf(email.companyId, deps.baseUrl, email))
  const mail: Mail = {
    companyId: email.companyId,
    messageId: email.messageId,
    from: { name: email.fromName, address: wireAddress(email.fromAddress) },
    to: wireAddress(email.recipient),
    replyTo: email.replyTo && wireAddress(email.replyTo),
    subject: email.subject,
    ...(await prepareTexts(deps.baseUrl, email, tracking)),
    headers: { ...email.headers, ...(email.isMarketing && unsubscribeHeaders(deps.baseUrl, email)) },
    date: email.createdAt,
    reportToken: deps.readsPostedReports ? createReportToken(email) : null,
    returnPath: deps.bounceDomain === undefined ? null : returnPath(deps.bounceDomain, createReportToken(email)),
  }
  return { mail, targets: tracking.targets }
}
