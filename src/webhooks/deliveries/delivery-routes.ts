import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { beforeQuery, parseBefore } from '../../http/paging/paging.ts'
import { instant, nullableInteger, pathId } from '../../http/shapes.ts'
import type { Clock } from '../../platform/clock.ts'
import { deliveryNotFound, validationError } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'
import { createSigner, deliveryHeaders, hideValues } from '../attempts/delivery-headers.ts'
import { getRegistration, getRegistrationRow, type RegistrationDeps } from '../registrations/registration.ts'
import type { Registration } from '../registrations/registration-store.ts'
import {
  DeliveryDetailsRecord,
  LISTED_EXAMPLE,
  ListedDeliveryRecord,
  MAX_SHOWN_ATTEMPTS,
  toDeliveryRecord,
  toListedDelivery,
} from './delivery-shape.ts'
import {
  DELIVERY_STATUSES,
  type DeliveryDetails,
  findDelivery,
  listDeliveries,
  MAX_DELIVERY_ID,
  readDeliveredMessages,
} from './list/delivery-list-store.ts'
import { findDeliveryIds } from './list/delivery-search-store.ts'

const PATH = '/public/v1/webhooks/registrations/:id/deliveries'
const PAGE = { defaultSize: 25, maxSize: 100 }
const ById = Type.Object({ id: pathId('RegistrationId', 'Registration id.') })
const tags = ['Webhook registrations']

const MAX_SEARCH = 200
const ListQuery = Type.Object({
  ...beforeQuery(PAGE),
  status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
  since: Type.Optional(instant('Start of the time range.')),
  until: Type.Optional(instant('End of the time range.')),
  search: Type.Optional(
    Type.String({
      maxLength: MAX_SEARCH,
      description:
        "A customer's phone number, to find deliveries about the latest 100 messages; a delivery id; or all or part of a message or event id, searched in the newest 10,000 deliveries.",
    }),
  ),
})
const DetailsQuery = Type.Object({
  headersOf: Type.Optional(
    Type.String({
      pattern: '^(now|[1-9][0-9]{0,15})$',
      description:
        "Whose headers `requestHeaders` shows: an attempt's `id`, or `now` for an attempt at this moment. Defaults to the latest attempt.",
    }),
  ),
})

type DeliveryRoutesDeps = RegistrationDeps & { clock: Clock; serviceName: string }

/** Serves delivery states (console: section 5). */
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
          description: 'Newest first.',
          params: ById,
          querystring: ListQuery,
          response: {
            200: Type.Object(
              {
                data: Type.Array(ListedDeliveryRecord),
                nextBefore: nullableInteger('`before` of the next page; null on the last page.'),
              },
              { description: 'One page of deliveries.', example: { data: [LISTED_EXAMPLE], nextBefore: null } },
            ),
          },
        },
      },
      async ({ caller, params, query }) => {
        const { id } = await getRegistrationRow(deps, caller.companyId, parseId(params.id))
        const { before, limit } = parseBefore(query, PAGE)
        const range = { since: timeOf(query.since), until: timeOf(query.until) }
        const filter = { ...range, status: query.status, before, limit: limit + 1 }
        const search = query.search?.trim()
        const ids = search ? await findDeliveryIds(deps.db, caller.companyId, id, search, filter) : undefined
        const rows = await listDeliveries(deps.db, caller.companyId, id, { ...filter, ids })
        const data = rows.slice(0, limit)
        const messages = await readDeliveredMessages(deps.db, caller.companyId, data)
        return {
          data: data.map((row) => toListedDelivery(row, messages.get(row.id))),
          nextBefore: rows.length > limit ? (data.at(-1)?.id ?? null) : null,
        }
      },
    )

    app.get(
      `${PATH}/:deliveryId`,
      {
        config: { ...config, errors: ['validation_error'] },
        schema: {
          tags,
          operationId: 'getDelivery',
          summary: 'Get a delivery',
          description: "Returns the sent body, the headers and the receiver's answers.",
          params: Type.Object({ ...ById.properties, deliveryId: pathId('DeliveryId', 'Delivery id.') }),
          querystring: DetailsQuery,
          response: { 200: Type.Object({ data: DeliveryDetailsRecord }, { description: 'The delivery.' }) },
        },
      },
      async ({ caller, params, query }) => {
        const registration = await getRegistration(deps, caller.companyId, parseId(params.id))
        const id = parseId(params.deliveryId)
        const found =
          id === undefined || id > MAX_DELIVERY_ID
            ? undefined
            : await findDelivery(deps.db, caller.companyId, registration.id, id, MAX_SHOWN_ATTEMPTS)
        if (found === undefined) throw deliveryNotFound()
        return { data: toDetails(deps, registration, found, timeOfHeaders(query.headersOf, found, deps.clock)) }
      },
    )
  }
}

const timeOf = (text: string | undefined) => (text === undefined ? undefined : new Date(text))

function timeOfHeaders(headersOf: string | undefined, { recorded }: DeliveryDetails, clock: Clock): Date {
  if (headersOf === 'now') return clock.now()
  if (headersOf === undefined) return recorded[0]?.sentAt ?? clock.now()
  const attempt = recorded.find(({ id }) => id === Number(headersOf))
  if (attempt !== undefined) return attempt.sentAt
  throw validationError([{ path: 'headersOf', message: 'must be `now` or the id of an attempt of this delivery' }])
}

function toDetails(
  { cipher, serviceName }: DeliveryRoutesDeps,
  { id: registrationId, headers, secret }: Registration,
  { body, recorded, ...delivery }: DeliveryDetails,
  at: Date,
): Static<typeof DeliveryDetailsRecord> {
  const signer = secret === null ? null : createSigner(cipher.decrypt(secret))
  const signed = { ...delivery, registrationId, body: Buffer.from(body), headers: hideValues(headers), signer }
  return {
    delivery: toDeliveryRecord(delivery),
    payload: body,
    requestHeaders: deliveryHeaders(serviceName, signed, at),
    attempts: recorded.map((one) => ({ ...one, sentAt: one.sentAt.toISOString() })),
  }
}
