import { Type } from 'typebox'
import { asRead } from '../../http/as-read.ts'
import { nullableText, nullableTime } from '../../http/shapes.ts'
import {
  HEADER_NAME_PATTERN,
  hideValues,
  KEPT_OR_VALUE_PATTERN,
  MAX_HEADER_NAME_LENGTH,
  MAX_HEADER_VALUE_LENGTH,
  MAX_STATIC_HEADERS,
  type StaticHeader,
} from '../attempts/delivery-headers.ts'
import { MAX_URL_LENGTH, type ReceiverRules } from '../attempts/receiver-address.ts'
import { EVENT_NAMES } from '../events/event-kinds.ts'
import type { RegistrationHealth } from './registration-health-store.ts'
import type { Registration } from './registration-store.ts'

const MAX_NAME_LENGTH = 200
const MIN_SECRET_LENGTH = 16
const MAX_SECRET_LENGTH = 256
const URL_DESCRIPTION =
  'HTTPS URL of the receiver: a public host, port 80, 443 or 1024 to 65535, without user name, password or fragment.'
const MAX_CHANNELS = 1_000

const Method = Type.Enum(['POST', 'GET'])
const Status = Type.Enum(['active', 'inactive'])

const headerName = Type.String({ minLength: 1, maxLength: MAX_HEADER_NAME_LENGTH, pattern: HEADER_NAME_PATTERN })
const headerValue = Type.String({ maxLength: MAX_HEADER_VALUE_LENGTH, pattern: KEPT_OR_VALUE_PATTERN })
const Headers = Type.Unsafe<StaticHeader[] | Record<string, string>>({
  anyOf: [
    Type.Array(Type.Object({ key: headerName, value: headerValue }), { maxItems: MAX_STATIC_HEADERS }),
    {
      type: 'object',
      propertyNames: headerName,
      additionalProperties: headerValue,
      maxProperties: MAX_STATIC_HEADERS,
    },
  ],
  title: 'StaticHeaders',
  description:
    'Static headers of every delivery: a list, or an object as in answers. Values are never returned: answers show `…`. An update replaces all headers; the value `…` keeps the stored one.',
})

/** Rules beyond Ajv are in `registrationFaults`. */
function members() {
  return {
    name: Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: '^[^\\u0000]*$', description: 'Name.' }),
    url: Type.String({ maxLength: MAX_URL_LENGTH, description: URL_DESCRIPTION }),
    events: Type.Array(Type.Enum([...EVENT_NAMES]), {
      minItems: 1,
      description: 'Events to deliver; duplicates count once.',
    }),
    channelIds: Type.Unsafe<number[] | null>({
      type: ['array', 'null'],
      items: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      minItems: 1,
      maxItems: MAX_CHANNELS,
      description:
        'Connected numbers (`channelId`) whose events are delivered; null for all. Events without a number, such as `contact.changed`, are always delivered.',
    }),
    secret: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      minLength: MIN_SECRET_LENGTH,
      maxLength: MAX_SECRET_LENGTH,
      title: 'SigningSecret',
      description: 'Key that signs the bodies; never returned. A new one replaces the old at once, null removes it.',
    }),
    method: Method,
    ordered: Type.Boolean({
      description:
        'Sends deliveries about one conversation one after another: each waits until the previous one is delivered or dead-lettered. By default false.',
    }),
    headers: Headers,
  }
}

export function createShape(rules: ReceiverRules) {
  const { name, url, events, channelIds, secret, method, ordered, headers } = members()
  const scheme = rules.allowPrivate ? '^[hH][tT][tT][pP][sS]?://' : '^[hH][tT][tT][pP][sS]://'
  return Type.Object(
    {
      name,
      url: Type.String({ ...url, title: 'ReceiverUrl', pattern: scheme }),
      events,
      channelIds: Type.Optional(channelIds),
      secret: Type.Optional(secret),
      method: Type.Optional(method),
      ordered: Type.Optional(ordered),
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

export const REGISTRATION_SERVICE_MEMBERS = ['id', 'hasSecret', 'pausedReason', 'pausedAt', 'created'] as const

/** Builds the update schema, which accepts the record as read, even with a URL the rules no longer allow. */
export function updateShape() {
  const recorded = Object.fromEntries(
    REGISTRATION_SERVICE_MEMBERS.map((name) => [name, asRead(RegistrationReply.properties[name])]),
  )
  return Type.Object(
    {
      ...Type.Partial(Type.Object({ ...members(), status: Status })).properties,
      ...recorded,
      health: Type.Optional(Health),
    },
    { title: 'RegistrationChange', example: { status: 'inactive' } },
  )
}

const HEALTH_EXAMPLE = {
  lastSuccessAt: '2026-03-02T09:30:01.204Z',
  lastFailureAt: null,
  consecutiveFailures: 0,
  waiting: 0,
  deadLettered24h: 0,
}

const Health = Type.Object(
  {
    lastSuccessAt: nullableTime('Last attempt answered with 2xx.'),
    lastFailureAt: nullableTime('Last failed attempt.'),
    consecutiveFailures: Type.Integer({
      description: 'Failed attempts since the last success, within seven days, counted up to 1,000.',
    }),
    waiting: Type.Integer({ description: 'Unfinished deliveries, counted up to 10,000.' }),
    deadLettered24h: Type.Integer({ description: 'Dead letters of the last 24 hours, counted up to 10,000.' }),
  },
  {
    title: 'RegistrationHealth',
    additionalProperties: false,
    description: 'How the receiver has answered lately. In a change, accepted as read and ignored.',
    example: HEALTH_EXAMPLE,
  },
)

const EXAMPLE = {
  id: 31,
  name: 'Order desk',
  url: 'https://shop.example.com/hooks/whatsapp',
  events: ['whatsapp.message.received'],
  channelIds: null,
  status: 'active',
  method: 'POST',
  ordered: false,
  headers: {},
  hasSecret: true,
  pausedReason: null,
  pausedAt: null,
  created: '2026-02-20T10:15:00.000Z',
  health: HEALTH_EXAMPLE,
}

export const RegistrationReply = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    url: Type.String(),
    events: Type.Array(Type.Unsafe<string>({ type: 'string', enum: [...EVENT_NAMES] })),
    channelIds: Type.Unsafe<number[] | null>({
      type: ['array', 'null'],
      items: { type: 'integer' },
      description: 'Connected numbers whose events are delivered; null for all.',
    }),
    status: Status,
    method: Method,
    ordered: Type.Boolean({ description: 'Whether deliveries about one conversation are sent one after another.' }),
    headers: Type.Record(Type.String(), Type.String(), {
      description: 'Static header names, each with `…`.',
    }),
    hasSecret: Type.Boolean({ description: 'Whether deliveries are signed.' }),
    pausedReason: nullableText(
      'Why the service paused the registration: `no_success` after five days without a 2xx and 100 dead letters; the registration is then inactive. `backlog` while the company has too many waiting deliveries; only `whatsapp.message.received` is then delivered. Null if not paused.',
    ),
    pausedAt: nullableTime('When the service paused the registration; set it `active` to resume.'),
    created: Type.String({ format: 'date-time' }),
    health: Health,
  },
  {
    title: 'Registration',
    description: 'An event receiver and its health.',
    example: EXAMPLE,
  },
)

/** Never returns the secret or header values. */
export const toRegistrationReply = (row: Registration, health?: RegistrationHealth) => ({
  id: row.id,
  name: row.name,
  url: row.url,
  events: row.events,
  channelIds: row.channelIds,
  status: row.status,
  method: row.method,
  ordered: row.ordered,
  headers: Object.fromEntries(hideValues(row.headers).map(({ key, value }) => [key, value])),
  hasSecret: row.secret !== null,
  pausedReason: row.pausedReason,
  pausedAt: row.pausedAt?.toISOString() ?? null,
  created: row.createdAt.toISOString(),
  health: {
    lastSuccessAt: health?.lastSuccessAt?.toISOString() ?? null,
    lastFailureAt: health?.lastFailureAt?.toISOString() ?? null,
    consecutiveFailures: health?.consecutiveFailures ?? 0,
    waiting: health?.waiting ?? 0,
    deadLettered24h: health?.deadLettered24h ?? 0,
  },
})
