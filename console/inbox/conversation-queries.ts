import { type InfiniteData, infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Conversation, HiddenMatches } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'
import type { InboxSearch } from '../search.ts'

/** The filters of a list as the API takes them. */
export type Filter = {
  status?: Conversation['status']
  unread?: true
  channelId?: number
  assignee?: string
  search?: string
}

export const PAGE_ROWS = 100
const FILTERED_ROWS = 50

/** The filter of an address. Without a status the inbox shows what is open. */
export function filterOf({ status = 'open', channelId, unread, mine, search }: InboxSearch, me: string): Filter {
  return {
    ...(status !== 'all' && { status }),
    ...(channelId !== undefined && { channelId }),
    ...(unread && { unread }),
    ...(mine && { assignee: me }),
    ...(search !== undefined && { search }),
  }
}

/** A page of a filtered list, and the cursor of the next one. */
type FilteredPage = { data: Conversation[]; next: string | null; hiddenMatches?: HiddenMatches | undefined }
export type ConversationPages = InfiniteData<FilteredPage>

/** The conversations that match a filter, from the latest backwards. */
export const filteredQuery = (filter: Filter) =>
  infiniteQueryOptions({
    queryKey: ['conversations', filter],
    queryFn: async ({ pageParam: before, signal }): Promise<FilteredPage> => {
      const params = { ...filter, ...(before !== '' && { before }), pageSize: FILTERED_ROWS }
      const { data, pagination, hiddenMatches } = await api.listConversations(params, { signal })
      return { data, next: pagination.nextCursor, hiddenMatches }
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  })

/** As many as the number next to the screen's name counts, and one more. */
export const UNREAD_ROWS = 100

/** The ids of open conversations with unread messages, at most a page of them. */
export const unreadQuery = queryOptions({
  queryKey: ['unread'],
  queryFn: async ({ signal }) => {
    const params = { status: 'open', unread: true, pageSize: UNREAD_ROWS } as const
    return (await api.listConversations(params, { signal })).data.map(({ chatId }) => chatId)
  },
})

export type NumberedPage = { data: Conversation[]; pagination: { totalRecords: number | null } }

/** A page of all conversations, by its number from 1. */
export const numberedQuery = (page: number) =>
  queryOptions({
    queryKey: ['conversation-pages', page],
    queryFn: ({ signal }): Promise<NumberedPage> => api.listConversations({ page, pageSize: PAGE_ROWS }, { signal }),
  })

export const conversationQuery = (chatId: number) =>
  queryOptions({
    queryKey: ['conversation', chatId],
    queryFn: async ({ signal }) => (await api.getConversation({ chatId }, { signal })).data,
  })

/** Whether a record belongs to a filtered list; undefined when only the server can say. */
export function matches(record: Conversation, { status, unread, channelId, assignee, search }: Filter) {
  if (search !== undefined) return undefined
  return (
    (status === undefined || record.status === status) &&
    (unread === undefined || record.unreadMessages > 0) &&
    (channelId === undefined || record.sender.channelId === channelId) &&
    (assignee === undefined || record.assignee === assignee)
  )
}
