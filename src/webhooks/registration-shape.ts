import { Type } from 'typebox'
import { MAX_URL_LENGTH, type ReceiverRules } from './receiver-url.ts'
import { EVENTS, MAX_NAME_LENGTH, MAX_SECRET_LENGTH, MIN_SECRET_LENGTH, type Registration } from './registration.ts'
import {
  HEADER_NAME_PATTERN,
  HEADER_VALUE_PATTERN,
  MAX_HEADER_NAME_LENGTH,
  MAX_HEADER_VALUE_LENGTH,
  MAX_HEADERS,
} from './static-header.ts'

const Method = Type.Enum(['POST', 'GET'])
const Status = Type.Enum(['active', 'inactive'])

/** The members of create and update. What Ajv cannot see is in `registrationFaults`. */
function members({ allowPrivate }: ReceiverRules) {
  return {
    name: Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: '^[^\\u0000]*$' }),
    url: Type.String({
      maxLength: MAX_URL_LENGTH,
      description: 'HTTPS address of the receiver, with a public host; no user name, password or fragment.',
      pattern: allowPrivate ? '^[hH][tT][tT][pP][sS]?://' : '^[hH][tT][tT][pP][sS]://',
    }),
    events: Type.Array(Type.Enum([...EVENTS]), {
      minItems: 1,
      description: 'Events to deliver; an event named twice counts once.',
    }),
    secret: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      minLength: MIN_SECRET_LENGTH,
      maxLength: MAX_SECRET_LENGTH,
      description: 'Signs the bodies; never returned. A new one replaces the old at once, null removes it.',
    }),
    method: Method,
    headers: Type.Array(
      Type.Object({
        key: Type.String({ minLength: 1, maxLength: MAX_HEADER_NAME_LENGTH, pattern: HEADER_NAME_PATTERN }),
        value: Type.String({ maxLength: MAX_HEADER_VALUE_LENGTH, pattern: HEADER_VALUE_PATTERN }),
      }),
      { maxItems: MAX_HEADERS, description: 'Static headers sent on every delivery; an update replaces all of them.' },
    ),
  }
}

export function createShape(rules: ReceiverRules) {
  const { name, url, events, secret, method, headers } = members(rules)
  return Type.Object({
    name,
    url,
    events,
    secret: Type.Optional(secret),
    method: Type.Optional(method),
    headers: Type.Optional(headers),
  })
}

export const updateShape = (rules: ReceiverRules) => Type.Partial(Type.Object({ ...members(rules), status: Status }))

export const RegistrationReply = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    url: Type.String(),
    events: Type.Array(Type.String()),
    status: Status,
    method: Method,
    headers: Type.Record(Type.String(), Type.String()),
    hasSecret: Type.Boolean(),
    created: Type.String({ format: 'date-time' }),
  },
  { title: 'WebhookRegistration' },
)

export const toRegistrationReply = (row: Registration) => ({
  id: row.id,
  name: row.name,
  url: row.url,
  events: row.events,
  status: row.status,
  method: row.method,
  headers: Object.fromEntries(row.headers.map(({ key, value }) => [key, value])),
  hasSecret: row.secret !== null,
  created: row.createdAt.toISOString(),
})
