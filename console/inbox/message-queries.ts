import { type InfiniteData, infiniteQueryOptions } from '@tanstack/react-query'
import type { Message } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'

const PAGE_MESSAGES = 50

export type MessagePages = InfiniteData<Message[]>

/** The messages of a conversation, from the newest backwards. */
export const messagesQuery = (chatId: number) =>
  infiniteQueryOptions({
    queryKey: ['messages', chatId],
    queryFn: async ({ pageParam: before, signal }) => {
      const params = { chatId, pageSize: PAGE_MESSAGES, ...(before !== '' && { before }) }
      return (await api.listMessages(params, { signal })).data
    },
    initialPageParam: '',
    getNextPageParam: (page) => (page.length < PAGE_MESSAGES ? undefined : page.at(-1)?.id.toString()),
  })

/** The pages with a message that is new or changed; each message stands there once. */
export function withMessage({ pages, pageParams }: MessagePages, message: Message): MessagePages {
  const isKnown = pages.some((page) => page.some(({ id }) => id === message.id))
  const replace = (one: Message) => (one.id === message.id ? message : one)
  if (isKnown) return { pages: pages.map((page) => page.map(replace)), pageParams }
  const [first = [], ...others] = pages
  const oldest = first.at(-1)
  // An older message that was not loaded comes with its page.
  if (oldest !== undefined && message.id < oldest.id) return { pages, pageParams }
  return { pages: [[...first, message].sort((one, other) => other.id - one.id), ...others], pageParams }
}

/** From the oldest to the newest; pages may overlap after a refetch. */
export function inOrder(pages: MessagePages | undefined): Message[] {
  const byId = new Map((pages?.pages ?? []).flat().map((message) => [message.id, message]))
  return [...byId.values()].sort((one, other) => one.id - other.id)
}
