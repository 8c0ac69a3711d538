import { useQueryClient } from '@tanstack/react-query'
import type { ConversationPages, NumberedPage } from './conversation-queries.ts'

/** The numbers of the business in the conversations that are loaded, each with the id by which the list is filtered. */
export function useNumbers(): { channelId: number; phoneNumber: string }[] {
  const client = useQueryClient()
  const lists = client.getQueriesData<ConversationPages>({ queryKey: ['conversations'] })
  const pages = client.getQueriesData<NumberedPage>({ queryKey: ['conversation-pages'] })
  const rows = [
    ...lists.flatMap(([, list]) => list?.pages.flat() ?? []),
    ...pages.flatMap(([, page]) => page?.data ?? []),
  ]
  const numbers = new Map(rows.map(({ sender }) => [sender.channelId, sender.phoneNumber]))
  return [...numbers].map(([channelId, phoneNumber]) => ({ channelId, phoneNumber }))
}
