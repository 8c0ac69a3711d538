import type { FastifyContextConfig } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { AppError, ErrorCode } from '../../platform/errors.ts'
import * as errors from '../../platform/errors.ts'
import { isClosed } from '../body/input.ts'
import { takesKeys } from '../idempotency/idempotency.ts'
import { MessageError, nullableTime, TextError } from '../shapes.ts'

export type Ref = { $ref: string }
export type Media = { schema?: unknown; example?: unknown; examples?: object }
export type Response = { description: string; headers?: object; content?: Record<string, Media> }

type UncodedKind = 'message' | `text ${400 | 401 | 409 | 500}`

/** A code; `message`, a 404 for a missing record; or an error text without a code, with its status. */
export type ErrorKind = ErrorCode | UncodedKind

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For the API reference: errors beyond those common to the route's surface and method. */
    errors?: readonly ErrorKind[]
  }
}

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

export function errorResponse(status: number, kinds: readonly ErrorKind[]): Response {
  const own = kinds.filter((kind) => !COMMON_KINDS.has(kind))
  const shown = own.length > 0 ? own : kinds.slice(0, 1)
  const examples = shown.map((kind) => [errorName(kind), { value: EXAMPLES[kind].body }] as const)
  const example = examples.length > 1 ? { examples: Object.fromEntries(examples) } : { example: examples[0]?.[1].value }
  return {
    description: DESCRIPTIONS[status] ?? 'The request was refused.',
    content: { 'application/json': { schema: errorShape(kinds), ...example } },
    headers: referToHeaders(['X-Error-Code', ...(HEADERS_OF_STATUS[status] ?? [])]),
  }
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

const COUNTED = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
const HEADERS_OF_STATUS: Record<number, string[]> = {
  401: ['WWW-Authenticate'],
  429: [...COUNTED, 'Retry-After'],
  // Every response has it; shown where error reports need it.
  500: ['X-Request-Id'],
  503: ['X-Request-Id', 'Retry-After'],
}

export const referToHeaders = (names: readonly string[]): Record<string, Ref> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${headerComponent(name)}` }]))

export const headerComponent = (name: string): string => name.replace(/^X-/, '').replaceAll('-', '')

const Message = Type.String()
const Text = (description: string) => Type.String({ description })

const Fields = Type.Object(
  {
    fields: Type.Array(
      Type.Object({
        path: Text('Path in the request, such as `template.components[0].type`.'),
        message: Text('What is wrong with the value.'),
      }),
      { description: 'Every invalid field, at most 100.' },
    ),
  },
  { title: 'FieldFaults' },
)

const DETAILS = {
  validation_error: Fields,
  invalid_phone_number: Fields,
  bad_request: Type.Optional(Fields),
  session_window_closed: Type.Object({
    lastInboundAt: nullableTime("The customer's last message; null if there is none."),
    closedAt: nullableTime('When the window closed; null if never open.'),
    remedy: Text('The available alternative.'),
  }),
  template_not_found: Type.Optional(
    Type.Object({ languages: Type.Array(Type.String(), { description: 'Template languages.' }) }),
  ),
  template_not_approved: Type.Object({
    name: Text('Template name.'),
    status: Text('Template status.'),
  }),
  parameter_mismatch: Type.Object({
    component: Type.Optional(Text('Invalid component.')),
    expected: Type.Optional(Type.Integer({ description: 'Number of parameters of the component.' })),
    given: Type.Optional(Type.Integer({ description: 'Number of parameters in the request.' })),
    provider: Type.Optional(Text('Provider text, if the provider found the mismatch.')),
  }),
  gone: Type.Optional(Type.Object({ replacement: Text('Endpoint to use instead.') })),
} satisfies Partial<Record<ErrorCode, TSchema>>

const isCode = (kind: string): kind is ErrorCode => kind in errors.ERROR_STATUSES
const CODES = Object.keys(errors.ERROR_STATUSES).filter(isCode)
const isDetailed = (code: ErrorCode): code is keyof typeof DETAILS => code in DETAILS
const pascal = (code: string): string =>
  code.toLowerCase().replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

const RateLimited = Type.Object(
  {
    code: Type.Enum(['rate_limit_exceeded']),
    message: Message,
    retry_after: Type.Integer({ description: 'Seconds until the next request is accepted.' }),
  },
  { title: 'RateLimitExceeded' },
)
const Undetailed = Type.Object(
  {
    code: Type.Enum(CODES.filter((code) => !isDetailed(code) && code !== 'rate_limit_exceeded')),
    message: Message,
  },
  { title: 'ErrorWithoutDetails' },
)
const detailed = CODES.filter(isDetailed).map((code) =>
  Type.Object({ code: Type.Enum([code]), message: Message, details: DETAILS[code] }, { title: pascal(code) }),
)

const CodedError = Type.Unsafe<unknown>({
  oneOf: [...detailed, RateLimited, Undetailed],
  title: 'Error',
  description: 'An error with a code for programs and a message for readers.',
})

function errorShape(kinds: readonly ErrorKind[]): TSchema {
  const codes = kinds.filter(isCode)
  const shapes = [
    ...(kinds.includes('message') ? [MessageError] : []),
    ...(kinds.some((kind) => kind.startsWith('text ')) ? [TextError] : []),
    ...(codes.length > 0 ? [withCodes(codes)] : []),
  ]
  return shapes.length === 1 && shapes[0] ? shapes[0] : Type.Union(shapes)
}

const withCodes = (codes: readonly ErrorCode[]): TSchema =>
  Type.Object({
    error: Type.Unsafe<unknown>({ allOf: [CodedError, { properties: { code: { enum: codes } } }] }),
  })

export function errorName(kind: ErrorKind): string {
  if (kind === 'message') return 'NoRecord'
  return pascal(kind.replace(' ', '_'))
}

export const EXAMPLES: Record<ErrorCode | UncodedKind, AppError> = {
  message: errors.contactNotFound(),
  'text 400': errors.missingRecipient(),
  'text 401': errors.missingCredentials(),
  'text 409': errors.customFieldExists('LOYALTY_TIER'),
  'text 500': errors.sendFailed(),
  bad_request: errors.badRequest('name is required', [{ path: 'name', message: 'is required' }]),
  invalid_group_by: errors.invalidGroupBy(),
  unauthorized: errors.unauthorized(),
  forbidden: errors.forbidden('The API key needs the permission WhatsApp'),
  not_found: errors.notFound(),
  template_not_found: errors.templateNotFound({ languages: ['en', 'it'] }),
  WHATSAPP_SENDER_NOT_FOUND: errors.senderNotFound(),
  no_whatsapp_account: errors.noWhatsappAccount(),
  duplicate_resource: errors.duplicateResource('Another contact has this email'),
  idempotency_key_in_use: errors.idempotencyKeyInUse(),
  session_exists: errors.sessionExists({ name: 'Mara', company: null }, { name: 'Mara', company: null }),
  already_sent: errors.alreadySent(),
  gone: errors.gone(
    'This address was removed on 2026-06-01: use /public/v1/templates/email/send',
    '/public/v1/templates/email/send',
  ),
  request_timeout: errors.slowBody(),
  payload_too_large: errors.payloadTooLarge(1_048_576),
  unsupported_media_type: errors.unsupportedContentEncoding(),
  range_not_satisfiable: errors.rangeNotSatisfiable(48_213),
  expectation_failed: errors.expectationFailed(),
  validation_error: errors.validationError([{ path: 'name', message: 'must not be empty' }]),
  invalid_phone_number: errors.invalidPhoneNumber({
    path: 'recipient',
    message: 'must be 7 to 15 digits with country code, optionally after a +',
  }),
  template_not_approved: errors.templateNotApproved('order_update', 'PENDING'),
  parameter_mismatch: errors.parameterMismatch({ component: 'BODY', expected: 2, given: 1 }),
  recipient_not_on_whatsapp: errors.recipientNotOnWhatsapp(),
  session_window_closed: errors.sessionWindowClosed(
    new Date('2026-03-01T09:30:00.000Z'),
    new Date('2026-03-02T09:30:00.000Z'),
  ),
  idempotency_key_reused: errors.idempotencyKeyReused(),
  rate_limit_exceeded: errors.rateLimitExceeded(17),
  internal_error: errors.internalError(),
  service_unavailable: errors.serviceUnavailable('The service cannot reach its database: try again soon'),
  send_outcome_unknown: errors.sendOutcomeUnknown(),
}
