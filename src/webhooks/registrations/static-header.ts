import { isRecord } from '../../http/record.ts'
import { type FieldFault, validationError } from '../../platform/errors.ts'
import { memberOf } from '../../platform/text/own-member.ts'

export type StaticHeader = { key: string; value: string }

/**
 * Stands for a value in every answer, since values often are credentials. In a change it keeps the stored value of that name;
 * no value can be equal to it, since it is beyond Latin-1.
 */
export const HIDDEN_VALUE = '…'

export const MAX_STATIC_HEADERS = 20
export const MAX_HEADER_NAME_LENGTH = 200
export const MAX_HEADER_VALUE_LENGTH = 4096
/** RFC 9110: a name is a token, a value is visible ASCII, spaces, tabs and the upper half of Latin-1. */
export const HEADER_NAME_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
const HEADER_VALUE_PATTERN = '^[\\t\\u0020-\\u007e\\u0080-\\u00ff]*$'

export const KEPT_OR_VALUE_PATTERN = `${HEADER_VALUE_PATTERN}|^${HIDDEN_VALUE}$`

/** Headers of the connection, the body and the signatures: only Parley sets them. */
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

/** Whether a registration may not set this header; every spelling of `X-<SERVICE_NAME>-…` included. */
export function isReservedHeader(name: string, serviceName: string): boolean {
  const lower = name.toLowerCase()
  return RESERVED.has(lower) || lower.startsWith(`x-${serviceName.toLowerCase()}-`)
}

/** Static headers as a list, or as the object that answers show. */
export type GivenHeaders = readonly StaticHeader[] | Readonly<Record<string, string>>

/** Static headers as a list. */
export const headerList = (headers: GivenHeaders): StaticHeader[] =>
  isList(headers) ? [...headers] : Object.entries(headers).map(([key, value]) => ({ key, value }))

const isList = (headers: GivenHeaders): headers is readonly StaticHeader[] => Array.isArray(headers)

/** Names that are reserved or come twice; the shape checks lengths and characters. */
export function staticHeaderFaults(headers: unknown, serviceName: string): FieldFault[] {
  const seen = new Set<string>()
  return namedHeaders(headers).flatMap(({ name, path }) => {
    if (isReservedHeader(name, serviceName)) return [{ path, message: `must not be ${name}: it is set by the service` }]
    if (seen.has(name.toLowerCase())) return [{ path, message: `must not name ${name} twice` }]
    seen.add(name.toLowerCase())
    return []
  })
}

/** Static headers as answers show them: names without values. */
export const hideValues = (headers: readonly StaticHeader[]): StaticHeader[] =>
  headers.map(({ key }) => ({ key, value: HIDDEN_VALUE }))

const keepsValue = ({ value }: StaticHeader): boolean => value === HIDDEN_VALUE

/**
 * Requested headers, in which `…` is replaced with the stored value of the same name in any letter case.
 * @throws {AppError} 422 when no value is stored under the name
 */
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

/** The names of headers that may be misshapen, and where they are. */
function namedHeaders(headers: unknown): { name: string; path: string }[] {
  if (!Array.isArray(headers))
    return isRecord(headers) ? Object.keys(headers).map((name) => ({ name, path: `headers.${name}` })) : []
  return headers.flatMap((header, index) => {
    const name = memberOf(header, 'key')
    return typeof name === 'string' ? [{ name, path: `headers[${index}].key` }] : []
  })
}
