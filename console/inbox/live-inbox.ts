import type { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { Conversation, Message } from '../../client/src/generated/schemas.ts'
import { invalidateSoon } from '../queries.ts'
import { scheduledQuery } from './composer/scheduled/scheduled-queries.ts'
import {
  type ConversationPages,
  conversationQuery,
  type Filter,
  matches,
  type NumberedPage,
  UNREAD_ROWS,
  unreadQuery,
} from './conversation-queries.ts'
import { type MessagePages, messagesQuery, withMessage } from './message-queries.ts'

/** `isNews`: it has another last message than before. Times have whole seconds: news goes before what has the same time. */
type Change = { record: Conversation; isNews: boolean }

/** While the pointer or the focus is in the list, rows keep their places: these wait until it leaves. */
let waiting: ReadonlyMap<number, Change> = new Map()
let isListInUse = false
const listeners = new Set<() => void>()

/** Called by the list. Rows that waited move when it is no longer in use. */
export function setListInUse(client: QueryClient, isInUse: boolean): void {
  isListInUse = isInUse
  if (!isInUse) placeWaiting(client)
}

/** Moves the rows that wait to their places. */
export function placeWaiting(client: QueryClient): void {
  for (const change of waiting.values()) placeConversation(client, change)
  if (waiting.size > 0) setWaiting(new Map())
}

/** How many conversations with unread messages that have just come a list does not show in their places yet. */
export function useNews(filter: Filter, firstChatId: number | undefined): number {
  const changes = useSyncExternalStore(subscribe, () => waiting)
  const isHidden = ({ record, isNews }: Change) =>
    isNews && record.unreadMessages > 0 && record.chatId !== firstChatId && matches(record, filter) === true
  return [...changes.values()].filter(isHidden).length
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function setWaiting(next: ReadonlyMap<number, Change>): void {
  waiting = next
  for (const listener of listeners) listener()
}

/** Shows a changed conversation in its pane and in every list that is loaded. */
export function applyConversation(client: QueryClient, record: Conversation): void {
  const isNews = !isSameMessage(shownIn(client, record.chatId), record)
  client.setQueryData(conversationQuery(record.chatId).queryKey, record)
  countUnread(client, record)
  changeRows(client, record.chatId, () => record)
  const change = { record, isNews: isNews || waiting.get(record.chatId)?.isNews === true }
  if (isListInUse) holdConversation(client, change)
  else placeConversation(client, change)
}

/** Reads the scheduled messages of a conversation again, if they were read. */
export function rereadScheduled(client: QueryClient, chatId: number): void {
  const { queryKey } = scheduledQuery(chatId)
  if (client.getQueryState(queryKey) !== undefined) invalidateSoon(client, queryKey)
}

function holdConversation(client: QueryClient, change: Change): void {
  setWaiting(new Map(waiting).set(change.record.chatId, change))
  // Only the server knows whether it belongs to a search: its list is read again soon.
  for (const [queryKey] of client.getQueriesData({ queryKey: ['conversations'] })) {
    if (matches(change.record, Object(queryKey[1])) === undefined) invalidateSoon(client, queryKey)
  }
}

/** A full page may have more behind it: it is read again when a conversation leaves it. */
function countUnread(client: QueryClient, { chatId, status, unreadMessages }: Conversation): void {
  const { queryKey } = unreadQuery
  const before = client.getQueryData(queryKey)
  if (before === undefined) return
  const others = before.filter((id) => id !== chatId)
  const after = status === 'open' && unreadMessages > 0 ? [chatId, ...others] : others
  client.setQueryData(queryKey, after)
  if (before.length >= UNREAD_ROWS && after.length < before.length) invalidateSoon(client, queryKey)
}

/** The conversation as a loaded list shows it. */
function shownIn(client: QueryClient, chatId: number): Conversation | undefined {
  const lists = client.getQueriesData<ConversationPages>({ queryKey: ['conversations'] })
  const pages = client.getQueriesData<NumberedPage>({ queryKey: ['conversation-pages'] })
  const rows = [
    ...lists.flatMap(([, list]) => list?.pages.flatMap(({ data }) => data) ?? []),
    ...pages.flatMap(([, page]) => page?.data ?? []),
  ]
  return rows.find((row) => row.chatId === chatId)
}

function isSameMessage(existing: Conversation | undefined, record: Conversation): boolean {
  if (existing === undefined) return false
  const [before, now] = [existing.lastMessage, record.lastMessage]
  return (
    before?.timestampIso === now?.timestampIso && before?.text === now?.text && before?.direction === now?.direction
  )
}

/** Changes the row of a conversation in every list that is loaded. */
function changeRows(client: QueryClient, chatId: number, change: (row: Conversation) => Conversation): void {
  const replace = (row: Conversation) => (row.chatId === chatId ? change(row) : row)
  client.setQueriesData<ConversationPages>(
    { queryKey: ['conversations'] },
    (lists) => lists && { ...lists, pages: lists.pages.map((page) => ({ ...page, data: page.data.map(replace) })) },
  )
  client.setQueriesData<NumberedPage>(
    { queryKey: ['conversation-pages'] },
    (page) => page && { ...page, data: page.data.map(replace) },
  )
}

/** Shows a message that is new or changed; of the last one of a conversation, the row shows the status. */
export function applyMessage(client: QueryClient, chatId: number, message: Message): void {
  client.setQueryData<MessagePages>(messagesQuery(chatId).queryKey, (pages) =>
    pages === undefined ? pages : withMessage(pages, message),
  )
  changeRows(client, chatId, (row) =>
    row.lastMessage?.id === message.id ? { ...row, lastMessage: { ...row.lastMessage, status: message.status } } : row,
  )
}

function placeConversation(client: QueryClient, change: Change): void {
  const { record } = change
  for (const [queryKey, lists] of client.getQueriesData<ConversationPages>({ queryKey: ['conversations'] })) {
    const filter: Filter = Object(queryKey[1])
    const belongs = matches(record, filter)
    if (belongs === undefined) invalidateSoon(client, queryKey)
    else if (lists !== undefined) client.setQueryData(queryKey, placed(lists, change, belongs))
  }
  placeInFirstPage(client, change)
}

/** The lists with the record in order of its activity, or without it. */
function placed(lists: ConversationPages, { record, isNews }: Change, belongs: boolean): ConversationPages {
  const isShown = lists.pages.some(({ data }) => data.some(({ chatId }) => chatId === record.chatId))
  if (belongs && isShown && !isNews) return lists
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
function placeInFirstPage(client: QueryClient, { record, isNews }: Change): void {
  const queryKey = ['conversation-pages', 1]
  const first = client.getQueryData<NumberedPage>(queryKey)
  if (first === undefined) return
  const existing = first.data.findIndex(({ chatId }) => chatId === record.chatId)
  const isInOrder = (one: Conversation) =>
    activityOf(one) > activityOf(record) || (!isNews && activityOf(one) === activityOf(record))
  if (existing !== -1 && first.data.slice(0, existing).every(isInOrder)) return
  if (existing === -1) {
    invalidateSoon(client, ['conversation-pages'])
    return
  }
  const others = first.data.filter(({ chatId }) => chatId !== record.chatId)
  const before = others.findIndex((one) => activityOf(one) <= activityOf(record))
  const data = others.toSpliced(before === -1 ? others.length : before, 0, record)
  client.setQueryData(queryKey, { ...first, data })
}

const activityOf = ({ lastMessage, createdAt }: Conversation): string => lastMessage?.timestampIso ?? createdAt
