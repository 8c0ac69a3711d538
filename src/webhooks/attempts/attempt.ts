import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { createCache } from '../../platform/cache.ts'
import type { Clock } from '../../platform/clock.ts'
import type { AttemptRecord, StartedAttempt } from '../deliveries/delivery-store.ts'
import type { SecretCipher } from '../registrations/registration.ts'
import { isReservedHeader, openHeaders, type StaticHeader } from '../registrations/static-header.ts'
import { ATTEMPT_TIMEOUT_MS, type AttemptOutcome, type ReceiverClient } from './post.ts'
import { deadLetterMessage, nextAttemptAt } from './schedule.ts'

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

export type SignedDelivery = {
  registrationId: number
  event: string
  eventId: string
  body: Buffer
  headers: readonly StaticHeader[]
  signer: Signer | null
}

/** Builds the attempt's headers (spec: Delivery headers). Static headers can't replace ours, even after a rename. */
export function deliveryHeaders(serviceName: string, delivery: SignedDelivery, at: Date): Record<string, string> {
  const id = headerTextOf(delivery.eventId)
  const own: Record<string, string> = {
    'Content-Type': 'application/json',
    [`X-${serviceName}-Event`]: delivery.event,
    [`X-${serviceName}-Delivery`]: id,
    [`X-${serviceName}-Webhook-Id`]: String(delivery.registrationId),
    ...signatures(serviceName, delivery, id, at),
  }
  const chosen = delivery.headers.filter(({ key }) => !isReservedHeader(key, serviceName))
  return {
    ...defaults(serviceName, chosen),
    ...Object.fromEntries(chosen.map(({ key, value }) => [key, value])),
    ...own,
  }
}

/** Provider ids can contain any character; headers only visible ASCII. */
const headerTextOf = (eventId: string): string => eventId.replace(/[^!-~]+/gu, encodeURIComponent)

/** Static headers can replace these. `identity` prevents decompression bombs. */
function defaults(serviceName: string, chosen: readonly StaticHeader[]): Record<string, string> {
  const names = new Set(chosen.map(({ key }) => key.toLowerCase()))
  return {
    ...(!names.has('user-agent') && { 'User-Agent': `${serviceName}-Webhooks/1` }),
    ...(!names.has('accept-encoding') && { 'Accept-Encoding': 'identity' }),
  }
}

function signatures(
  serviceName: string,
  { signer, body }: SignedDelivery,
  id: string,
  at: Date,
): Record<string, string> {
  if (signer === null) return {}
  return { [`X-${serviceName}-Signature`]: signer.sign(body), ...signer.standardHeaders(id, at, body) }
}

const MOST_KEPT = 1_000

export type Signers = (sealed: string) => Signer

/** Caches signers, since decrypting a secret costs more than signing. Throws if a secret can't be opened. */
export function createSigners(cipher: Pick<SecretCipher, 'decrypt'>): Signers {
  const signers = createCache<string, Signer>({ name: 'webhook_signers', max: MOST_KEPT })
  return (sealed) => signers.get(sealed, () => createSigner(cipher.decrypt(sealed)))
}

const STANDARD_PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

export type Signer = {
  sign(body: Buffer): string
  /** Standard Webhooks: `id` must be stable across attempts, `at` must not (receivers reject old timestamps). */
  standardHeaders(id: string, at: Date, body: Buffer): Record<string, string>
}

/** Creates a signer: hex HMAC-SHA256 of the body, and Standard Webhooks headers. */
export function createSigner(secret: string): Signer {
  const key = createSecretKey(secret, 'utf8')
  const standard = standardKey(secret)
  return {
    sign: (body) => createHmac('sha256', key).update(body).digest('hex'),
    standardHeaders: (id, at, body) => {
      const timestamp = String(Math.floor(at.getTime() / 1000))
      const digest = createHmac('sha256', standard).update(`${id}.${timestamp}.`).update(body).digest('base64')
      return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${digest}` }
    },
  }
}

/** Decodes the base64 after `whsec_`; otherwise the whole secret is the key. Never empty. */
function standardKey(secret: string): KeyObject {
  const encoded = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : ''
  const isEncoded = encoded !== '' && BASE64.test(encoded)
  return createSecretKey(isEncoded ? encoded : secret, isEncoded ? 'base64' : 'utf8')
}
