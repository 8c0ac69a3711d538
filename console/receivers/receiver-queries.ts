import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Delivery } from '../api.ts'
import { api, read } from '../client.ts'

const LIST = '/public/v1/webhooks/registrations'
const ONE = '/public/v1/webhooks/registrations/{id}'
const DELIVERIES = '/public/v1/webhooks/registrations/{id}/deliveries'
const DELIVERY = '/public/v1/webhooks/registrations/{id}/deliveries/{deliveryId}'
const PAGE_ROWS = 50
const HOUR_MS = 60 * 60 * 1_000
/** The begin of a period moves with the minute, so that a list keeps its key. */
const MINUTE_MS = 60_000

export const receiversQuery = queryOptions({
  queryKey: ['receivers'],
  queryFn: ({ signal }) => read(api.GET(LIST, { signal })),
})

export const receiverQuery = (id: number) =>
  queryOptions({
    queryKey: ['receivers', id],
    queryFn: ({ signal }) => read(api.GET(ONE, { params: { path: { id } }, signal })),
  })

/** The filter of a receiver's deliveries; the period ends now. */
export type DeliveryFilter = { status?: Delivery['status']; hours: number }

export const deliveriesQuery = (id: number, { status, hours }: DeliveryFilter) =>
  infiniteQueryOptions({
    queryKey: ['deliveries', id, { status, hours }],
    queryFn: ({ pageParam: before, signal }) => {
      const query = { since: sinceOf(hours), limit: PAGE_ROWS, ...(status && { status }), ...(before && { before }) }
      return read(api.GET(DELIVERIES, { params: { path: { id }, query }, signal }))
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ nextBefore }) => nextBefore ?? undefined,
  })

export const deliveryQuery = (id: number, deliveryId: number) =>
  queryOptions({
    queryKey: ['deliveries', id, 'one', deliveryId],
    queryFn: async ({ signal }) =>
      (await read(api.GET(DELIVERY, { params: { path: { id, deliveryId } }, signal }))).data,
  })

export const sinceOf = (hours: number): string =>
  new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - hours * HOUR_MS).toISOString()
