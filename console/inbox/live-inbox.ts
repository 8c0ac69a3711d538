import type { QueryClient } from '@tanstack/react-query'
import type { Conversation, Message } from '../api.ts'
import { invalidateSoon } from '../queries.ts'
import {
  type ConversationPages,
  conversationQuery,
  type Filter,
  matches,
  type NumberedPage,
  unreadQuery,
} from './conversation-queries.ts'
import { type MessagePages, messagesQuery, withMessage } from './message-queries.ts'

/** While the pointer or the focus is in the list, rows keep their places: these wait until it leaves. */
const waiting = new Map<number, Conversation>()
let isListInUse = false

/** Told by the list. Rows that waited move when it is no longer in use. */
export function setListInUse(client: QueryClient, isInUse: boolean): void {
  isListInUse = isInUse
  if (isInUse) return
  for (const record of waiting.values()) placeConversation(client, record)
  waiting.clear()
}

/** Shows a changed conversation in its pane and in every list that is loaded. */
export function applyConversation(client: QueryClient, record: Conversation): void {
  client.setQueryData(conversationQuery(record.chatId).queryKey, record)
  client.setQueryData(unreadQuery.queryKey, (rows) => {
    const others = rows?.filter(({ chatId }) => chatId !== record.chatId)
    return others && record.status === 'open' && record.unreadMessages > 0 ? [record, ...others] : others
  })
  const replace = (one: Conversation) => (one.chatId === record.chatId ? record : one)
  client.setQueriesData<ConversationPages>(
    { queryKey: ['conversations'] },
    (lists) => lists && { ...lists, pages: lists.pages.map((page) => ({ ...page, data: page.data.map(replace) })) },
  )
  client.setQueriesData<NumberedPage>(
    { queryKey: ['conversation-pages'] },
    (page) => page && { ...page, data: page.data.map(replace) },
  )
  if (isListInUse) waiting.set(record.chatId, record)
  else placeConversation(client, record)
}

export function applyMessage(client: QueryClient, chatId: number, message: Message): void {
  client.setQueryData<MessagePages>(messagesQuery(chatId).queryKey, (pages) =>
    pages === undefined ? pages : withMessage(pages, message),
  )
}

function placeConversation(client: QueryClient, record: Conversation): void {
  for (const [queryKey, lists] of client.getQueriesData<ConversationPages>({ queryKey: ['conversations'] })) {
    const filter: Filter = Object(queryKey[1])
    const belongs = matches(record, filter)
    if (belongs === undefined) invalidateSoon(client, queryKey)
    else if (lists !== undefined) client.setQueryData(queryKey, placed(lists, record, belongs))
  }
  placeInFirstPage(client, record)
}

/** The lists with the record in order of its activity, or without it. */
function placed(lists: ConversationPages, record: Conversation, belongs: boolean): ConversationPages {
  const others = lists.pages.map((page) => ({
    ...page,
    data: page.data.filter(({ chatId }) => chatId !== record.chatId),
  }))
  if (!belongs) return { ...lists, pages: others }
  const isEarlier = (one: Conversation) => activityOf(one) <= activityOf(record)
  const at = others.findIndex(({ data }) => data.some(isEarlier))
  const target = at === -1 ? others.length - 1 : at
  const pages = others.map((page, index) => {
    if (index !== target) return page
    const before = page.data.findIndex(isEarlier)
    return { ...page, data: page.data.toSpliced(before === -1 ? page.data.length : before, 0, record) }
  })
  return { ...lists, pages }
}

/** A row that comes from further below, or is new, moves all pages: they are read again. */
function placeInFirstPage(client: QueryClient, record: Conversation): void {
  const queryKey = ['conversation-pages', 1]
  const first = client.getQueryData<NumberedPage>(queryKey)
  if (first === undefined) return
  const known = first.data.findIndex(({ chatId }) => chatId === record.chatId)
  const isInOrder = known !== -1 && first.data.slice(0, known).every((one) => activityOf(one) >= activityOf(record))
  if (isInOrder) return
  if (known === -1) {
    invalidateSoon(client, ['conversation-pages'])
    return
  }
  const data = first.data.toSorted((one, other) => (activityOf(one) < activityOf(other) ? 1 : -1))
  client.setQueryData(queryKey, { ...first, data })
}

const activityOf = ({ lastMessage, createdAt }: Conversation): string => lastMessage?.timestampIso ?? createdAt
