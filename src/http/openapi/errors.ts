import { type TSchema, Type } from 'typebox'
import { ERROR_STATUSES, type ErrorCode } from '../../platform/errors.ts'
import { MessageError, nullableTime, TextError } from '../shapes.ts'
import type { UncodedKind } from './error-examples.ts'

/** A code; `message`, a 404 for a missing record; or an error text without a code, with its status. */
export type ErrorKind = ErrorCode | UncodedKind

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For the API reference: errors beyond those common to the route's surface and method. */
    errors?: readonly ErrorKind[]
  }
}

const Message = Type.String()
const Text = (description: string) => Type.String({ description })

const Fields = Type.Object(
  {
    fields: Type.Array(
      Type.Object({
        path: Text('The place in the request, such as `template.components[0].type`.'),
        message: Text('The fault of the value.'),
      }),
      { description: 'Every field at fault, at most 100.' },
    ),
  },
  { title: 'FieldFaults' },
)

const DETAILS = {
  validation_error: Fields,
  invalid_phone_number: Fields,
  bad_request: Type.Optional(Fields),
  session_window_closed: Type.Object({
    lastInboundAt: nullableTime('The time of the last message of the customer; null when there is none.'),
    closedAt: nullableTime('The time at which the window closed; null when it was never open.'),
    remedy: Text('The alternative that can be sent.'),
  }),
  template_not_found: Type.Optional(
    Type.Object({ languages: Type.Array(Type.String(), { description: 'The languages that the template has.' }) }),
  ),
  template_not_approved: Type.Object({
    name: Text('The name of the template.'),
    status: Text('The status of the template.'),
  }),
  parameter_mismatch: Type.Object({
    component: Type.Optional(Text('The component at fault.')),
    expected: Type.Optional(Type.Integer({ description: 'The number of parameters that the component takes.' })),
    given: Type.Optional(Type.Integer({ description: 'The number of parameters in the request.' })),
    provider: Type.Optional(Text('The words of the provider, when it found the mismatch.')),
  }),
  gone: Type.Optional(Type.Object({ replacement: Text('The address to use instead.') })),
} satisfies Partial<Record<ErrorCode, TSchema>>

const isCode = (kind: string): kind is ErrorCode => kind in ERROR_STATUSES
const CODES = Object.keys(ERROR_STATUSES).filter(isCode)
const isDetailed = (code: ErrorCode): code is keyof typeof DETAILS => code in DETAILS
const pascal = (code: string): string =>
  code.toLowerCase().replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

const RateLimited = Type.Object(
  {
    code: Type.Enum(['rate_limit_exceeded']),
    message: Message,
    retry_after: Type.Integer({ description: 'The number of seconds until the next request is admitted.' }),
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

export function errorShape(kinds: readonly ErrorKind[]): TSchema {
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
