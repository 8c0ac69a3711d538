import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { Clock } from '../../clock.ts'
import type { Db } from '../../db/connect.ts'
import { deliveryNotFound, validationError } from '../../errors.ts'
import { beforeQuery, parseBefore } from '../../http/paging/paging.ts'
import { nullableInteger, nullableText, nullableTime, pathId, Timestamp } from '../../http/shapes.ts'
import { parseId } from '../../ids.ts'
import { deliveryHeaders } from '../attempts/delivery-headers.ts'
import { createSigner } from '../attempts/sign.ts'
import { MESSAGE_RECEIVED } from '../events/message-received.ts'
import {
  getRegistration,
  getRegistrationRow,
  type Registration,
  type SecretCipher,
} from '../registrations/registration.ts'
import { hideValues } from '../registrations/static-header.ts'
import {
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryDetails,
  findDelivery,
  listDeliveries,
} from './delivery-list-store.ts'

const PATH = '/public/v1/webhooks/registrations/:id/deliveries'
const PAGE = { defaultSize: 25, maxSize: 100 }
/** Attempts that a delivery shows, the latest. */
const MAX_ATTEMPTS = 100
const ById = Type.Object({ id: pathId('RegistrationId', 'The id of the registration.') })
const tags = ['Webhook registrations']

const FIRST = new Date('1970-01-01T00:00:00Z')
const LAST = new Date('9999-12-31T00:00:00Z')
const DELIVERY_EXAMPLE = {
  id: 20779000002207,
  registrationId: 7,
  event: 'whatsapp.message.received',
  eventId: 'wamid.HBgM',
  wamid: 'wamid.HBgM',
  status: 'dead',
  attempts: 5,
  lastStatusCode: 500,
  createdAt: '2026-03-02T09:30:01.204Z',
  nextAttemptAt: null,
}

export const DeliveryRecord = Type.Object(
  {
    id: Type.Integer(),
    registrationId: Type.Integer(),
    event: Type.String({ description: 'The name of the event.' }),
    eventId: Type.String({ description: 'The id of the event, which receivers get in the `Delivery` header.' }),
    wamid: nullableText('The id of the received message at the provider; null for other events.'),
    status: Type.Enum([...DELIVERY_STATUSES], {
      description:
        '`dead` means that the last attempt failed or the deadline passed, `skipped` that the registration became inactive.',
    }),
    attempts: Type.Integer({ description: 'The number of attempts, since the last redelivery if there was one.' }),
    lastStatusCode: nullableInteger('The status of the latest attempt; null without an answer.'),
    createdAt: Timestamp,
    nextAttemptAt: nullableTime('The time of the next attempt; null when none follows.'),
  },
  {
    title: 'Delivery',
    example: DELIVERY_EXAMPLE,
  },
)
export type DeliveryRecord = Static<typeof DeliveryRecord>

const DeliveryDetailsRecord = Type.Object(
  {
    delivery: DeliveryRecord,
    payload: Type.String({ description: 'The body, the very text that is signed and sent.' }),
    requestHeaders: Type.Record(Type.String(), Type.String(), {
      description:
        'The headers of the latest attempt, by the present settings of the registration; `…` stands for the value of a static header.',
    }),
    attempts: Type.Array(
      Type.Object({
        id: Type.Integer({ description: 'The id of the attempt, by which `redeliver` repeats the delivery.' }),
        attempt: Type.Integer(),
        round: Type.Integer({ description: 'Counts from 1; each redelivery starts another round.' }),
        statusCode: nullableInteger('The status of the answer.'),
        response: nullableText('The body of the answer.'),
        errorMessage: nullableText('Why the attempt failed.'),
        durationMs: Type.Integer(),
        sentAt: Timestamp,
      }),
      { description: `The latest attempts, the newest first, at most ${MAX_ATTEMPTS}.` },
    ),
  },
  {
    title: 'DeliveryDetails',
    example: {
      delivery: DELIVERY_EXAMPLE,
      payload: '{"version":"1","event":"whatsapp.message.received"}',
      requestHeaders: { 'Content-Type': 'application/json' },
      attempts: [
        {
          id: 5120,
          attempt: 5,
          round: 1,
          statusCode: 500,
          response: 'error',
          errorMessage: 'HTTP 500',
          durationMs: 210,
          sentAt: '2026-03-02T10:15:01.204Z',
        },
      ],
    },
  },
)

const ListQuery = Type.Object({
  ...beforeQuery(PAGE),
  status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'The start of the time range.' })),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'The end of the time range.' })),
})

export type DeliveryRoutesDeps = { db: Db; cipher: SecretCipher; clock: Clock; serviceName: string }

/** The state of each delivery to a receiver (console: section 5). */
export function deliveryRoutes(deps: DeliveryRoutesDeps): FastifyPluginAsyncTypebox {
  const config = { permissions: ['WhatsApp'], roles: ['developer'] } as const

  return async (app) => {
    app.get(
      PATH,
      {
        config: { ...config, errors: ['validation_error'] },
        schema: {
          tags,
          operationId: 'listDeliveries',
          summary: 'List deliveries',
          description: 'Returns the newest deliveries of the registration first.',
          params: ById,
          querystring: ListQuery,
          response: {
            200: Type.Object(
              {
                data: Type.Array(DeliveryRecord),
                nextBefore: nullableInteger('The `before` of the next page; null on the last page.'),
              },
              { description: 'One page of deliveries.', example: { data: [DELIVERY_EXAMPLE], nextBefore: null } },
            ),
          },
        },
      },
      async ({ caller, params, query }) => {
        const { id } = await getRegistrationRow(deps, caller.companyId, parseId(params.id))
        const { before, limit } = parseBefore(query, PAGE)
        const range = { since: timeOf(query.since, 'since'), until: timeOf(query.until, 'until') }
        // One more than requested shows whether another page follows.
        const filter = { ...range, status: query.status, before, limit: limit + 1 }
        const rows = await listDeliveries(deps.db, caller.companyId, id, filter)
        const data = rows.slice(0, limit)
        return { data: data.map(toDeliveryRecord), nextBefore: rows.length > limit ? (data.at(-1)?.id ?? null) : null }
      },
    )

    app.get(
      `${PATH}/:deliveryId`,
      {
        config,
        schema: {
          tags,
          operationId: 'getDelivery',
          summary: 'Get a delivery with its attempts',
          description: 'Returns the sent body, the headers and what the receiver answered.',
          params: Type.Object({ ...ById.properties, deliveryId: pathId('DeliveryId', 'The id of the delivery.') }),
          response: { 200: Type.Object({ data: DeliveryDetailsRecord }, { description: 'The delivery.' }) },
        },
      },
      async ({ caller, params }) => {
        const registration = await getRegistration(deps, caller.companyId, parseId(params.id))
        const id = parseId(params.deliveryId)
        const found =
          id === undefined || id > MAX_ID
            ? undefined
            : await findDelivery(deps.db, caller.companyId, registration.id, id, MAX_ATTEMPTS)
        if (found === undefined) throw deliveryNotFound()
        return { data: toDetails(deps, registration, found) }
      },
    )
  }
}

/** The first 16 digits of an id are its day. */
const MAX_ID = 2 ** 31 * 1_000_000_000

function timeOf(text: string | undefined, path: string): Date | undefined {
  if (text === undefined) return undefined
  const at = new Date(text)
  if (!(at >= FIRST && at < LAST))
    throw validationError([{ path, message: 'must be a date and time from 1970 to 9999' }])
  return at
}

/** A delivery as the list shows it; `nextAttemptAt` is null when no attempt follows. */
export const toDeliveryRecord = (row: Delivery): DeliveryRecord => ({
  id: row.id,
  registrationId: row.registrationId,
  event: row.event,
  eventId: row.eventId,
  wamid: row.event === MESSAGE_RECEIVED ? row.eventId : null,
  status: row.status,
  attempts: row.attempts,
  lastStatusCode: row.lastStatusCode,
  createdAt: row.createdAt.toISOString(),
  nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
})

function toDetails(
  { cipher, clock, serviceName }: DeliveryRoutesDeps,
  { id: registrationId, headers, secret }: Registration,
  { body, recorded, ...delivery }: DeliveryDetails,
): Static<typeof DeliveryDetailsRecord> {
  const signer = secret === null ? null : createSigner(cipher.decrypt(secret))
  const signed = { ...delivery, registrationId, body: Buffer.from(body), headers: hideValues(headers), signer }
  return {
    delivery: toDeliveryRecord(delivery),
    payload: body,
    requestHeaders: deliveryHeaders(serviceName, signed, recorded[0]?.sentAt ?? clock.now()),
    attempts: recorded.map((one) => ({ ...one, sentAt: one.sentAt.toISOString() })),
  }
}
