import type { Clock } from '../../platform/clock.ts'
import type { AttemptRecord, StartedAttempt } from '../deliveries/delivery-store.ts'
import type { SecretCipher } from '../registrations/registration.ts'
import { openHeaders } from '../registrations/sealed-headers.ts'
import { ATTEMPT_TIMEOUT_MS, type AttemptOutcome, type ReceiverClient } from './post.ts'
import { deadLetterMessage, nextAttemptAt } from './schedule.ts'
import { deliveryHeaders } from './signing/delivery-headers.ts'
import type { Signers } from './signing/signers.ts'

export type AttemptDeps = {
  clock: Clock
  receiver: Pick<ReceiverClient, 'post'>
  serviceName: string
  signers: Signers
  cipher: Pick<SecretCipher, 'decrypt'>
  /** In [0, 1). */
  random: () => number
}

/**
 * Makes a started attempt and returns its record (spec: Retries and idempotency).
 * @throws only if the secret can't be opened: our fault, so it must not use up an attempt
 */
export async function makeAttempt(deps: AttemptDeps, started: StartedAttempt): Promise<AttemptRecord> {
  const { registrationId, event, eventId, url, method } = started
  const body = Buffer.from(started.body)
  const signer = started.secret === null ? null : deps.signers(started.secret)
  const sentAt = deps.clock.now()
  const staticHeaders = openHeaders(started.staticHeaders, deps.cipher.decrypt)
  const delivery = { registrationId, event, eventId, body, headers: staticHeaders, signer }
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
