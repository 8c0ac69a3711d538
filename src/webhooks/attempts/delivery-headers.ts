import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { createCache } from '../../platform/cache.ts'
import { type FieldFault, validationError } from '../../platform/errors.ts'
import { isRecord, memberOf } from '../../platform/text/json-text.ts'
import type { Cipher } from '../../secrets/secrets.ts'

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
export function createSigners(cipher: Pick<Cipher, 'decrypt'>): Signers {
  const signers = createCache<string, Signer>({ name: 'webhook_signers', max: MOST_KEPT })
  return (sealed) => signers.get(sealed, () => createSigner(cipher.decrypt(sealed)))
}

const STANDARD_PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

type Signer = {
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

export type StaticHeader = { key: string; value: string }

/** Hides values, which often are credentials. Can't be a real value: not Latin-1. */
const HIDDEN_VALUE = '…'

export const MAX_STATIC_HEADERS = 20
export const MAX_HEADER_NAME_LENGTH = 200
export const MAX_HEADER_VALUE_LENGTH = 4096
/** RFC 9110: names are tokens; values are visible ASCII, spaces, tabs and the upper half of Latin-1. */
export const HEADER_NAME_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
const HEADER_VALUE_PATTERN = '^[\\t\\u0020-\\u007e\\u0080-\\u00ff]*$'

export const KEPT_OR_VALUE_PATTERN = `${HEADER_VALUE_PATTERN}|^${HIDDEN_VALUE}$`

const RESERVED = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
])

/** Returns whether a header is reserved, including `X-<SERVICE_NAME>-…` in any case. */
export function isReservedHeader(name: string, serviceName: string): boolean {
  const lower = name.toLowerCase()
  return RESERVED.has(lower) || lower.startsWith(`x-${serviceName.toLowerCase()}-`)
}

export type GivenHeaders = readonly StaticHeader[] | Readonly<Record<string, string>>

const headerList = (headers: GivenHeaders): StaticHeader[] =>
  isList(headers) ? [...headers] : Object.entries(headers).map(([key, value]) => ({ key, value }))

const isList = (headers: GivenHeaders): headers is readonly StaticHeader[] => Array.isArray(headers)

/** Returns reserved and duplicate names; the schema checks lengths and characters. */
export function staticHeaderFaults(headers: unknown, serviceName: string): FieldFault[] {
  const seen = new Set<string>()
  return namedHeaders(headers).flatMap(({ name, path }) => {
    if (isReservedHeader(name, serviceName)) return [{ path, message: `must not be ${name}: it is set by the service` }]
    if (seen.has(name.toLowerCase())) return [{ path, message: `must not contain ${name} twice` }]
    seen.add(name.toLowerCase())
    return []
  })
}

export const hideValues = (headers: readonly StaticHeader[]): StaticHeader[] =>
  headers.map(({ key }) => ({ key, value: HIDDEN_VALUE }))

const keepsValue = ({ value }: StaticHeader): boolean => value === HIDDEN_VALUE

/** Replaces `…` by the stored value of the same name, case-insensitively; 422 without one. */
export function keepValues(given: GivenHeaders, stored: readonly StaticHeader[]): StaticHeader[] {
  const requested = headerList(given)
  const pathOf = (index: number, key: string) => (isList(given) ? `headers[${index}].value` : `headers.${key}`)
  const storedValues = new Map(stored.map(({ key, value }) => [key.toLowerCase(), value]))
  const isMissing = (header: StaticHeader) => keepsValue(header) && !storedValues.has(header.key.toLowerCase())
  const faults = requested.flatMap((header, index) =>
    isMissing(header)
      ? [{ path: pathOf(index, header.key), message: `must be the value: none is stored for ${header.key}` }]
      : [],
  )
  if (faults.length > 0) throw validationError(faults)
  return requested.map((header) => ({
    key: header.key,
    value: keepsValue(header) ? (storedValues.get(header.key.toLowerCase()) ?? '') : header.value,
  }))
}

function namedHeaders(headers: unknown): { name: string; path: string }[] {
  if (!Array.isArray(headers))
    return isRecord(headers) ? Object.keys(headers).map((name) => ({ name, path: `headers.${name}` })) : []
  return headers.flatMap((header, index) => {
    const name = memberOf(header, 'key')
    return typeof name === 'string' ? [{ name, path: `headers[${index}].key` }] : []
  })
}

export const sealHeaders = (headers: readonly StaticHeader[], encrypt: (clear: string) => string): string | null =>
  headers.length === 0 ? null : encrypt(JSON.stringify(headers))

export function openHeaders(sealed: string | null, decrypt: (sealed: string) => string): StaticHeader[] {
  return sealed === null ? [] : JSON.parse(decrypt(sealed))
}
