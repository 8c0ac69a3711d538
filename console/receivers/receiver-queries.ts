import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Delivery, DeliveryDetails } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'

const PAGE_ROWS = 50
const HOUR_MS = 60 * 60 * 1_000
/** A period starts at a full minute, so that a list keeps its key. */
const MINUTE_MS = 60_000

export const receiversQuery = queryOptions({
  queryKey: ['receivers'],
  queryFn: ({ signal }) => api.listRegistrations({ signal }),
})

export const receiverQuery = (id: number) =>
  queryOptions({
    queryKey: ['receivers', id],
    queryFn: ({ signal }) => api.getRegistration({ id }, { signal }),
  })

/** The filter of a receiver's deliveries; the period ends now. */
export type DeliveryFilter = { status?: Delivery['status']; search?: string; hours: number }

export const deliveriesQuery = (id: number, { hours, ...filter }: DeliveryFilter) =>
  infiniteQueryOptions({
    queryKey: ['deliveries', id, { hours, ...filter }],
    queryFn: ({ pageParam: before, signal }) =>
      api.listDeliveries(
        { id, since: sinceOf(hours), limit: PAGE_ROWS, ...filter, ...(before && { before }) },
        { signal },
      ),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ nextBefore }) => nextBefore ?? undefined,
  })

/** One delivery, with the headers of an attempt, by default the latest. */
export const deliveryQuery = (id: number, deliveryId: number, attempt?: number) =>
  queryOptions<DeliveryDetails>({
    queryKey: ['deliveries', id, 'one', deliveryId, attempt],
    queryFn: ({ signal }) =>
      readDelivery(id, deliveryId, attempt === undefined ? {} : { headersOf: String(attempt) }, signal),
    placeholderData: keepSame(deliveryId),
  })

/** The delivery with the headers of an attempt at this moment: their signature is not refused as too old. */
export const signedNow = (id: number, deliveryId: number): Promise<DeliveryDetails> =>
  readDelivery(id, deliveryId, { headersOf: 'now' })

const readDelivery = async (id: number, deliveryId: number, query: { headersOf?: string }, signal?: AbortSignal) =>
  (await api.getDelivery({ id, deliveryId, ...query }, signal && { signal })).data

/** Another attempt of the same delivery is chosen: what is known stays in view. */
const keepSame = (deliveryId: number) => (previous: DeliveryDetails | undefined) =>
  previous?.delivery.id === deliveryId ? previous : undefined

export const sinceOf = (hours: number): string =>
  new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - hours * HOUR_MS).toISOString()
