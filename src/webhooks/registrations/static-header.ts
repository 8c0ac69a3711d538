import { type FieldFault, validationError } from '../../platform/errors.ts'
import { isRecord, memberOf } from '../../platform/text/json-text.ts'

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
