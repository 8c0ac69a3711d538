import type { Clock } from '../../platform/clock.ts'
import type { AttemptRecord, StartedAttempt } from '../deliveries/delivery-store.ts'
import type { HeaderOpener } from '../registrations/sealed-headers.ts'
import { ATTEMPT_TIMEOUT_MS, type AttemptOutcome, type ReceiverClient } from './post.ts'
import { deadLetterMessage, nextAttemptAt } from './schedule.ts'
import { deliveryHeaders } from './signing/delivery-headers.ts'
import type { Signers } from './signing/signers.ts'

export type AttemptDeps = {
  clock: Clock
  receiver: Pick<ReceiverClient, 'post'>
  serviceName: string
  signers: Signers
  openHeaders: HeaderOpener
  /** From 0 up to but not including 1. */
  random: () => number
}

/**
 * Makes one attempt that has started and says what is to be recorded of it (spec: Retries and idempotency): the same
 * bytes are signed and sent, and a failure is followed by the next attempt or, the fifth time, by none. Throws only
 * when the secret cannot be opened: that is our fault and not the receiver's, so no attempt is spent on it.
 */
export async function makeAttempt(deps: AttemptDeps, started: StartedAttempt): Promise<AttemptRecord> {
  const { registrationId, event, eventId, url, method } = started
  const body = Buffer.from(started.body)
  const signer = started.secret === null ? null : deps.signers(started.secret)
  const sentAt = deps.clock.now()
  const delivery = { registrationId, event, eventId, body, headers: deps.openHeaders(started.staticHeaders), signer }
  const headers = deliveryHeaders(deps.serviceName, delivery, sentAt)
  const outcome = await deps.receiver.post({
    url,
    method,
    headers,
    body,
    timeoutMs: ATTEMPT_TIMEOUT_MS,
    registrationId,
  })
  return toRecord(started, outcome, sentAt, deps.clock.now(), deps.random)
}

function toRecord(
  { companyId, deliveryId, registrationId, round, attempt }: StartedAttempt,
  outcome: AttemptOutcome,
  sentAt: Date,
  now: Date,
  random: () => number,
): AttemptRecord {
  const { statusCode, response, errorMessage, durationMs } = outcome
  const next = outcome.kind === 'delivered' ? 'delivered' : nextAttemptAt(now, attempt, outcome, random)
  return {
    companyId,
    deliveryId,
    registrationId,
    round,
    attempt,
    statusCode,
    response,
    errorMessage: next === 'dead' ? deadLetterMessage(errorMessage) : errorMessage,
    durationMs,
    sentAt,
    next,
  }
}
