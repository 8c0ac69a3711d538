import { Type } from 'typebox'
import { MAX_URL_LENGTH, type ReceiverRules } from './receiver-url.ts'
import { EVENTS, MAX_NAME_LENGTH, MAX_SECRET_LENGTH, MIN_SECRET_LENGTH, type Registration } from './registration.ts'
import {
  HEADER_NAME_PATTERN,
  HEADER_VALUE_PATTERN,
  MAX_HEADER_NAME_LENGTH,
  MAX_HEADER_VALUE_LENGTH,
  MAX_STATIC_HEADERS,
} from './static-header.ts'

const Method = Type.Enum(['POST', 'GET'])
const Status = Type.Enum(['active', 'inactive'])

/** The members of create and update. Rules that Ajv cannot check are in `registrationFaults`. */
function members({ allowPrivate }: ReceiverRules) {
  return {
    name: Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: '^[^\\u0000]*$', description: 'The name.' }),
    url: Type.String({
      maxLength: MAX_URL_LENGTH,
      title: 'ReceiverUrl',
      description: 'The HTTPS address of the receiver: a public host, without user name, password or fragment.',
      pattern: allowPrivate ? '^[hH][tT][tT][pP][sS]?://' : '^[hH][tT][tT][pP][sS]://',
    }),
    events: Type.Array(Type.Enum([...EVENTS]), {
      minItems: 1,
      description: 'The events to deliver; an event named twice counts once.',
    }),
    secret: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      minLength: MIN_SECRET_LENGTH,
      maxLength: MAX_SECRET_LENGTH,
      title: 'SigningSecret',
      description:
        'The key that signs the bodies; it is never returned. A new one replaces the old at once, and null removes it.',
    }),
    method: Method,
    headers: Type.Array(
      Type.Object({
        key: Type.String({ minLength: 1, maxLength: MAX_HEADER_NAME_LENGTH, pattern: HEADER_NAME_PATTERN }),
        value: Type.String({ maxLength: MAX_HEADER_VALUE_LENGTH, pattern: HEADER_VALUE_PATTERN }),
      }),
      {
        maxItems: MAX_STATIC_HEADERS,
        title: 'StaticHeaders',
        description: 'Static headers of every delivery; an update replaces all of them.',
      },
    ),
  }
}

/** The body that creates a registration. The rules say which URLs and headers this installation admits. */
export function createShape(rules: ReceiverRules) {
  const { name, url, events, secret, method, headers } = members(rules)
  return Type.Object(
    {
      name,
      url,
      events,
      secret: Type.Optional(secret),
      method: Type.Optional(method),
      headers: Type.Optional(headers),
    },
    {
      title: 'NewRegistration',
      example: {
        name: 'Order desk',
        url: 'https://shop.example.com/hooks/whatsapp',
        events: ['whatsapp.message.received'],
        secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      },
    },
  )
}

/** The body that changes a registration: each member is optional; `status` may be set too. */
export const updateShape = (rules: ReceiverRules) =>
  Type.Partial(Type.Object({ ...members(rules), status: Status }), {
    title: 'RegistrationChange',
    example: { status: 'inactive' },
  })

export const RegistrationReply = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    url: Type.String(),
    events: Type.Array(Type.Unsafe<string>({ type: 'string', enum: [...EVENTS] })),
    status: Status,
    method: Method,
    headers: Type.Record(Type.String(), Type.String()),
    hasSecret: Type.Boolean({ description: 'Whether deliveries are signed.' }),
    created: Type.String({ format: 'date-time' }),
  },
  {
    title: 'Registration',
    description: 'A receiver of events.',
    example: {
      id: 31,
      name: 'Order desk',
      url: 'https://shop.example.com/hooks/whatsapp',
      events: ['whatsapp.message.received'],
      status: 'active',
      method: 'POST',
      headers: {},
      hasSecret: true,
      created: '2026-02-20T10:15:00.000Z',
    },
  },
)

/** A registration without its secret: secrets are only ever written. */
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
