import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, type EventFilter, type EventList } from '../client.ts'

const PAGE_ROWS = 100
export const EVENTS = ['operator-events']

export const eventsQuery = (list: EventList, filter: EventFilter) =>
  infiniteQueryOptions({
    queryKey: [...EVENTS, list, filter],
    queryFn: ({ pageParam: before }) =>
      api.listEvents(list, { ...filter, limit: PAGE_ROWS, ...(before !== undefined && { before }) }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (page) => (page.length < PAGE_ROWS ? undefined : page.at(-1)?.id),
  })
