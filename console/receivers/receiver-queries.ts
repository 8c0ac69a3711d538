import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Delivery } from '../../client/src/generated/schemas.ts'
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
export type DeliveryFilter = { status?: Delivery['status']; hours: number }

export const deliveriesQuery = (id: number, { status, hours }: DeliveryFilter) =>
  infiniteQueryOptions({
    queryKey: ['deliveries', id, { status, hours }],
    queryFn: ({ pageParam: before, signal }) => {
      const filter = { since: sinceOf(hours), limit: PAGE_ROWS, ...(status && { status }), ...(before && { before }) }
      return api.listDeliveries({ id, ...filter }, { signal })
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ nextBefore }) => nextBefore ?? undefined,
  })

export const deliveryQuery = (id: number, deliveryId: number) =>
  queryOptions({
    queryKey: ['deliveries', id, 'one', deliveryId],
    queryFn: async ({ signal }) => (await api.getDelivery({ id, deliveryId }, { signal })).data,
  })

export const sinceOf = (hours: number): string =>
  new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - hours * HOUR_MS).toISOString()
