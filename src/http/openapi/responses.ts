import type { FastifyContextConfig } from 'fastify'
import { isClosed } from '../body/input.ts'
import { takesKeys } from '../idempotency/idempotency.ts'
import { type ErrorKind, errorExample, errorName, errorShape } from './errors.ts'

export type Media = { schema?: unknown; example?: unknown; examples?: object }
export type Response = { description: string; headers?: object; content?: Record<string, Media> }
export type Ref = { $ref: string }
export type Parameter = { name: string; in: string; schema?: unknown }
export type Operation = {
  operationId?: string
  tags?: string[]
  security?: Record<string, unknown>[]
  parameters?: (Parameter | Ref)[]
  requestBody?: { description?: string; content: Record<string, Media> }
  responses?: Record<string, Response | Ref>
  deprecated?: boolean
  'x-errors'?: ErrorKind[]
}

const DESCRIPTIONS: Record<number, string> = {
  400: 'The request is malformed, incomplete, or combines mutually exclusive fields.',
  401: 'The credential is missing or invalid.',
  403: "The credential doesn't permit this request, or the request used plain HTTP.",
  404: "The record doesn't exist or belongs to another company.",
  408: 'The body arrived too slowly.',
  409: 'The request conflicts with an existing record, or with a running request with the same Idempotency-Key.',
  410: 'The endpoint was removed.',
  413: 'The body is too large.',
  415: 'The body has a Content-Encoding, or a charset other than UTF-8.',
  416: 'The range is outside the file.',
  417: 'The request has an Expect header other than `100-continue`.',
  422: 'A value is not allowed; `details` lists invalid values, if any.',
  429: 'Too many requests; retry after the time in the header Retry-After.',
  500: 'The service failed, or the provider refused the message.',
  503: 'The service is temporarily unavailable, or the outcome is unknown.',
}

const integer = { type: 'integer', minimum: 0 }
const HEADERS = {
  'X-Request-Id': {
    description: 'Request id, also in the service log. Present on every answer.',
    schema: { type: 'string' },
  },
  'X-Error-Code': {
    description: 'Error code, present on every error, even without a body.',
    schema: { type: 'string' },
  },
  'X-RateLimit-Limit': {
    description:
      'Requests allowed per 60-second window. The three X-RateLimit headers are present on every answer to an API key.',
    schema: integer,
  },
  'X-RateLimit-Remaining': { description: 'Requests left in the window.', schema: integer },
  'X-RateLimit-Reset': { description: 'End of the window, in epoch seconds.', schema: integer },
  'Retry-After': { description: 'Seconds to wait before retrying.', schema: integer },
  'Idempotent-Replayed': {
    description: 'Present if this is the stored answer to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'WWW-Authenticate': { description: 'Credential scheme.', schema: { type: 'string', enum: ['Bearer'] } },
}
type HeaderName = keyof typeof HEADERS

function componentOf(header: string): string {
  return header.replace(/^X-/, '').replaceAll('-', '')
}

const COUNTED: HeaderName[] = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
const HEADERS_OF_STATUS: Record<number, HeaderName[]> = {
  401: ['WWW-Authenticate'],
  429: [...COUNTED, 'Retry-After'],
  // Every response has it; shown where error reports need it.
  500: ['X-Request-Id'],
  503: ['X-Request-Id', 'Retry-After'],
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A string of your choice, such as a UUID. A repeated request with the same key takes effect once, and returns the first answer for 48 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

export const COMMON_COMPONENTS = {
  headers: Object.fromEntries(Object.entries(HEADERS).map(([name, header]) => [componentOf(name), header])),
  parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
}

/** With more kinds, a response is named after the first operation using it. */
const MOST_KINDS_NAMED = 3

/** Omitted from an operation's examples if there are less common kinds. */
const COMMON_KINDS: ReadonlySet<ErrorKind> = new Set([
  'bad_request',
  'not_found',
  'message',
  'idempotency_key_in_use',
  'idempotency_key_reused',
  'validation_error',
  'service_unavailable',
])

export type SharedErrors = Map<string, { name: string; response: Response }>

/** Returns the error kinds of a route (decisions: Statuses). Excludes HTTP protocol errors, which precede routing. */
export function errorsOf(method: string, url: string, config: FastifyContextConfig): ErrorKind[] {
  const { surface = 'api-key', errors = [] } = config
  const takesKey = takesKeys(surface, method)
  const hasId = url.includes(':')
  const kinds: (ErrorKind | false)[] = [
    'bad_request',
    surface === 'api-key' && 'text 401',
    surface === 'operator' && 'unauthorized',
    'forbidden',
    // With LEGACY_HOST, each host serves only its own addresses.
    surface !== 'health' && 'not_found',
    hasId && (surface === 'api-key' || surface === 'operator') && 'message',
    method !== 'GET' && 'request_timeout',
    takesKey && 'idempotency_key_in_use',
    method !== 'GET' && 'payload_too_large',
    method !== 'GET' && 'unsupported_media_type',
    // Also for unknown query parameters, and for bodies on routes without a body schema.
    (method !== 'GET' || isClosed(config)) && 'validation_error',
    takesKey && 'idempotency_key_reused',
    // Undecodable addresses count against the client before routing.
    'rate_limit_exceeded',
    !errors.includes('text 500') && 'internal_error',
    'service_unavailable',
    ...errors,
  ]
  return [...new Set(kinds.filter((kind) => kind !== false))]
}

export function completeOperation(method: string, operation: Operation, shared: SharedErrors): void {
  const { 'x-errors': kinds = [], operationId = '', parameters = [], responses = {} } = operation
  delete operation['x-errors']
  if (method === 'post' && kinds.includes('idempotency_key_in_use')) {
    operation.parameters = [...parameters, { $ref: '#/components/parameters/IdempotencyKey' }]
    for (const response of Object.values(responses)) {
      if (!('$ref' in response)) response.headers = { ...referToHeaders(['Idempotent-Replayed']), ...response.headers }
    }
  }
  operation.responses = { ...responses }
  for (const [status, ofStatus] of Map.groupBy(kinds, (kind) => errorExample(kind).status)) {
    const kindNames = ofStatus.map(errorName).sort().join('Or')
    const ownName = ofStatus.length > MOST_KINDS_NAMED ? `${operationId}${status}` : kindNames
    const { name } = shared.get(kindNames) ?? { name: ownName }
    shared.set(kindNames, { name, response: errorResponse(status, ofStatus) })
    operation.responses[status] = { $ref: `#/components/responses/${name}` }
  }
}

function errorResponse(status: number, kinds: readonly ErrorKind[]): Response {
  const own = kinds.filter((kind) => !COMMON_KINDS.has(kind))
  const [first, ...others] = (own.length > 0 ? own : kinds.slice(0, 1)).map((kind) => ({
    name: errorName(kind),
    value: errorExample(kind).body,
  }))
  const examples = [first, ...others].flatMap((one) => (one ? [[one.name, { value: one.value }]] : []))
  const shown = others.length === 0 ? { example: first?.value } : { examples: Object.fromEntries(examples) }
  return {
    description: DESCRIPTIONS[status] ?? 'The request was refused.',
    content: { 'application/json': { schema: errorShape(kinds), ...shown } },
    headers: referToHeaders(['X-Error-Code', ...(HEADERS_OF_STATUS[status] ?? [])]),
  }
}

const referToHeaders = (names: readonly HeaderName[]): Record<string, Ref> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${componentOf(name)}` }]))
