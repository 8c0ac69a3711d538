import { ParleyError } from './error.ts'
import type { WebhookEvent } from './generated/schemas.ts'

export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>

export type VerifyOptions = {
  /** The `SERVICE_NAME` of the service, if it is not `Service`. It is part of the name of the signature header. */
  serviceName?: string
  /**
   * `standard` accepts the Standard Webhooks signature alone, `service` that of `X-Service-Signature` alone. Without it
   * every signature that is present must be right, and one must be present.
   */
  scheme?: 'standard' | 'service'
  /** How old, or how far ahead, the time of a Standard Webhooks signature may be. Default: 300 s. */
  toleranceSeconds?: number
}

type Bytes = Uint8Array<ArrayBuffer>

const TOLERANCE_SECONDS = 300
/** A receiver compares at most so many signatures of one header. */
const MAX_SIGNATURES = 10
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

/**
 * The event of a delivery whose signature is right: its member `event` narrows the others. `rawBody` is the body as it came: parsed and written again, the
 * bytes may differ. Several secrets, for a time of change, are tried one after the other.
 * @throws {ParleyError} `invalid_signature`
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | string[],
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
  const body = typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : new Uint8Array(rawBody)
  for (const one of typeof secret === 'string' ? [secret] : secret) {
    if (await isSigned(body, headers, one, options)) return toEvent(body)
  }
  throw invalid('The webhook is not signed with the secret, or its signature is too old')
}

/** `webhooks.unwrap` is `verifyWebhook` under the name that other clients have. */
export const webhooks = { unwrap: verifyWebhook }

const invalid = (message: string) => new ParleyError(message, { code: 'invalid_signature' })

function toEvent(body: Bytes): WebhookEvent {
  const event: WebhookEvent = JSON.parse(new TextDecoder().decode(body))
  if (event.version !== '1') throw invalid(`This client does not know version ${event.version} of the envelope`)
  return event
}

async function isSigned(
  body: Bytes,
  headers: WebhookHeaders,
  secret: string,
  options: VerifyOptions,
): Promise<boolean> {
  if (secret === '') return false
  const { serviceName = 'Service', scheme, toleranceSeconds = TOLERANCE_SECONDS } = options
  const service = scheme === 'standard' ? undefined : header(headers, `x-${serviceName.toLowerCase()}-signature`)
  const standard = scheme === 'service' ? undefined : header(headers, 'webhook-signature')
  if (service === undefined && standard === undefined) return false
  const isServiceRight = service === undefined || (await isServiceSigned(body, service, secret))
  const isStandardRight =
    standard === undefined || (await isStandardSigned(body, headers, standard, secret, toleranceSeconds))
  return isServiceRight && isStandardRight
}

async function isServiceSigned(body: Bytes, signature: string, secret: string): Promise<boolean> {
  return isHmac(new TextEncoder().encode(secret), fromHex(signature), body)
}

/** Standard Webhooks: `id.timestamp.body`, and a list of signatures with their versions. */
async function isStandardSigned(
  body: Bytes,
  headers: WebhookHeaders,
  signatures: string,
  secret: string,
  toleranceSeconds: number,
): Promise<boolean> {
  const id = header(headers, 'webhook-id')
  const timestamp = header(headers, 'webhook-timestamp') ?? ''
  const age = Math.abs(Date.now() / 1000 - Number(timestamp))
  if (id === undefined || !/^\d{1,15}$/.test(timestamp) || age > toleranceSeconds) return false
  const signed = join(new TextEncoder().encode(`${id}.${timestamp}.`), body)
  const candidates = signatures.split(' ', MAX_SIGNATURES).filter((one) => one.startsWith('v1,'))
  for (const one of candidates) {
    if (await isHmac(standardKey(secret), fromBase64(one.slice(3)), signed)) return true
  }
  return false
}

/** `verify` of WebCrypto compares in constant time. */
async function isHmac(key: Bytes, signature: Bytes, data: Bytes): Promise<boolean> {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  return crypto.subtle.verify('HMAC', imported, signature, data)
}

/** After `whsec_` comes the key in base64; any other secret is a key as it is. */
function standardKey(secret: string): Bytes {
  const encoded = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : ''
  return encoded !== '' && BASE64.test(encoded) ? fromBase64(encoded) : new TextEncoder().encode(secret)
}

/** The bytes of a base64 text; none when it is not base64. */
function fromBase64(text: string): Bytes {
  return BASE64.test(text) ? Uint8Array.from(atob(text), (character) => character.charCodeAt(0)) : new Uint8Array()
}

/** The bytes of a hexadecimal text; none when it is not hexadecimal. */
function fromHex(text: string): Bytes {
  if (!/^(?:[0-9a-f]{2})*$/i.test(text)) return new Uint8Array()
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}

function join(first: Bytes, second: Bytes): Bytes {
  const joined = new Uint8Array(first.length + second.length)
  joined.set(first)
  joined.set(second, first.length)
  return joined
}

/** The value of a header; undefined when it is absent, empty or there several times. */
function header(headers: WebhookHeaders, name: string): string | undefined {
  const value = headers instanceof Headers ? headers.get(name) : memberOf(headers, name)
  return typeof value === 'string' && value !== '' ? value : undefined
}

const memberOf = (headers: Record<string, string | string[] | undefined>, name: string) =>
  Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
