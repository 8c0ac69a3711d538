import type { FieldFault } from '../errors.ts'

export type StaticHeader = { key: string; value: string }

export const MAX_STATIC_HEADERS = 20
export const MAX_HEADER_NAME_LENGTH = 200
export const MAX_HEADER_VALUE_LENGTH = 4096
/** RFC 9110: a name is a token, a value is visible ASCII, spaces, tabs and the upper half of Latin-1. */
export const HEADER_NAME_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
export const HEADER_VALUE_PATTERN = '^[\\t\\u0020-\\u007e\\u0080-\\u00ff]*$'

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

/** Names that are reserved or come twice; the shape checks lengths and characters. */
export function staticHeaderFaults(headers: readonly unknown[], serviceName: string): FieldFault[] {
  const seen = new Set<string>()
  return headers.flatMap((header, index) => {
    const name = headerName(header)
    if (name === undefined) return []
    const path = `headers[${index}].key`
    if (isReservedHeader(name, serviceName)) return [{ path, message: `must not be ${name}: it is set by the service` }]
    if (seen.has(name.toLowerCase())) return [{ path, message: `must not name ${name} a second time` }]
    seen.add(name.toLowerCase())
    return []
  })
}

function headerName(header: unknown): string | undefined {
  if (typeof header !== 'object' || header === null || !('key' in header)) return undefined
  return typeof header.key === 'string' ? header.key : undefined
}
