import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, read } from '../client.ts'
import { type ConversationPages, type NumberedPage, numberedQuery } from './conversation-queries.ts'

const sendersQuery = queryOptions({
  queryKey: ['senders'],
  queryFn: async ({ signal }) => read(api.GET('/public/v1/templates/whatsapp/senders', { signal })),
})

/** The numbers seen so far: a list that is filtered by one of them shows no other. */
const seen = new Map<number, string>()

/**
 * The numbers of the business, each with the id by which the list is filtered. Only conversations tell the id: a company
 * with several numbers reads the latest of all of them.
 */
export function useNumbers(): { channelId: number; phoneNumber: string }[] {
  const client = useQueryClient()
  const lists = client.getQueriesData<ConversationPages>({ queryKey: ['conversations'] })
  const pages = client.getQueriesData<NumberedPage>({ queryKey: ['conversation-pages'] })
  const rows = [
    ...lists.flatMap(([, list]) => list?.pages.flatMap(({ data }) => data) ?? []),
    ...pages.flatMap(([, page]) => page?.data ?? []),
  ]
  // The first rows do not wait for it.
  const { data: senders } = useQuery({ ...sendersQuery, enabled: rows.length > 0 })
  useQuery({ ...numberedQuery(1), enabled: (senders?.items.length ?? 0) > 1 })
  for (const { sender } of rows) seen.set(sender.channelId, sender.phoneNumber)
  return [...seen].map(([channelId, phoneNumber]) => ({ channelId, phoneNumber }))
}
