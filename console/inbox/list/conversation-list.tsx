import { useInfiniteQuery, useQueries, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import type { Conversation, HiddenMatches } from '../../../client/src/generated/schemas.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { Failure } from '../../parts/feedback/failure.tsx'
import { List, MAX_ROWS } from '../../parts/lists/list.tsx'
import type { InboxSearch } from '../../search.ts'
import { useSession } from '../../shell/session-context.ts'
import { text } from '../../texts/text.ts'
import { type Filter, filteredQuery, numberedQuery, PAGE_ROWS } from '../conversation-queries.ts'
import { placeWaiting, setListInUse, useNews } from '../live-inbox.ts'
import css from './conversation-list.module.css'
import { ConversationRow, EmptyRow, ROW_PX } from './conversation-row.tsx'

/** A jump loads no page on its way: only what is in view when scrolling has stopped for this long. */
const STILL_MS = 80
const PAD_PX = 8
/** The rows that stand for a list on its way. */
const WAITING_ROWS = 14

/** The list for a filter: without one every row can be reached at once, with one the list grows from its top. */
export function ConversationList({ filter }: { filter: Filter }) {
  return Object.keys(filter).length === 0 ? <All /> : <Filtered filter={filter} />
}

function Filtered({ filter }: { filter: Filter }) {
  const { data, error, isPending, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    filteredQuery(filter),
  )
  const rows = data ? withoutRepeats(data.pages.flatMap((page) => page.data)) : []
  const onView = useCallback(
    (_first: number, last: number) => {
      if (hasNextPage && !isFetchingNextPage && last >= rows.length - 1) void fetchNextPage()
    },
    [hasNextPage, isFetchingNextPage, fetchNextPage, rows.length],
  )
  if (error && data === undefined) return <Failure error={error} retry={refetch} />
  if (!isPending && rows.length === 0) return <NoRows filter={filter} hidden={data?.pages[0]?.hiddenMatches} />
  const count = isPending ? WAITING_ROWS : rows.length + (hasNextPage ? 1 : 0)
  return (
    <Rows key={JSON.stringify(filter)} filter={filter} count={count} rowAt={(index) => rows[index]} onView={onView}>
      {isPending ? text.loading : hasNextPage ? text.inbox.totalAtLeast(rows.length) : text.inbox.total(rows.length)}
    </Rows>
  )
}

function All() {
  const [pages, setPages] = useState<number[]>([1])
  const queries = useQueries({ queries: [1, ...pages.filter((page) => page !== 1)].map(numberedQuery) })
  const client = useQueryClient()
  const [view, setView] = useState({ first: 0, last: 0 })
  const onView = useCallback((first: number, last: number) => setView({ first, last }), [])
  useEffect(() => {
    const timer = setTimeout(() => setPages(pagesOf(view)), STILL_MS)
    return () => clearTimeout(timer)
  }, [view])
  const [first] = queries
  if (first?.error && first.data === undefined) return <Failure error={first.error} retry={first.refetch} />
  const total = first?.data?.pagination.totalRecords
  if (total === 0) return <NoRows filter={{}} />
  const rowAt = (index: number) =>
    client.getQueryData(numberedQuery(Math.floor(index / PAGE_ROWS) + 1).queryKey)?.data[index % PAGE_ROWS]
  return (
    <Rows filter={{}} count={total ?? WAITING_ROWS} rowAt={rowAt} onView={onView}>
      {typeof total === 'number' ? text.inbox.total(total) : text.loading}
      {typeof total === 'number' && total > MAX_ROWS && ` · ${text.inbox.tooMany}`}
    </Rows>
  )
}

const pagesOf = ({ first, last }: { first: number; last: number }): number[] => {
  const from = Math.floor(first / PAGE_ROWS)
  const to = Math.floor(last / PAGE_ROWS)
  return Array.from({ length: to - from + 1 }, (_, index) => from + index + 1)
}

type RowsProps = {
  filter: Filter
  count: number
  rowAt: (index: number) => Conversation | undefined
  onView: (first: number, last: number) => void
  /** How many there are. */
  children: ReactNode
}

function Rows({ filter, count, rowAt, onView, children }: RowsProps) {
  const client = useQueryClient()
  const use = (isInUse: boolean) => () => setListInUse(client, isInUse)
  // A list that is removed gets no events of the pointer or the focus.
  useEffect(() => () => setListInUse(client, false), [client])
  return (
    <div className={css.rows}>
      <News filter={filter} firstChatId={rowAt(0)?.chatId} />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it only watches whether the list is in use */}
      <div
        className={css.list}
        onPointerEnter={use(true)}
        onPointerLeave={use(false)}
        onFocus={use(true)}
        onBlur={use(false)}
      >
        <List
          label={text.inbox.list}
          count={count}
          rowPx={ROW_PX}
          padPx={PAD_PX}
          place={JSON.stringify(filter)}
          keyOf={(index) => rowAt(index)?.chatId ?? `row ${index}`}
          onView={onView}
        >
          {(index) => {
            const record = rowAt(index)
            return record === undefined ? <EmptyRow /> : <ConversationRow record={record} />
          }}
        </List>
      </div>
      <p className={css.total}>{children}</p>
    </div>
  )
}

/** Says how many conversations with news wait while the rows keep their places, and shows them. */
function News({ filter, firstChatId }: { filter: Filter; firstChatId: number | undefined }) {
  const client = useQueryClient()
  const news = useNews(filter, firstChatId)
  const place = useRef<HTMLDivElement>(null)
  const isShowing = useRef(false)
  const show = () => {
    isShowing.current = true
    placeWaiting(client)
    listBelow(place.current)?.parentElement?.scrollTo({ top: 0 })
  }
  // The button that had the focus is gone.
  useEffect(() => {
    if (!isShowing.current) return
    isShowing.current = false
    listBelow(place.current)?.querySelector<HTMLElement>(`[data-chat="${firstChatId}"]`)?.focus()
  }, [firstChatId])
  return (
    <div ref={place} role="status" className={css.news}>
      {news > 0 && (
        <button type="button" className={css.newsButton} onClick={show}>
          {text.inbox.news(news)}
        </button>
      )}
    </div>
  )
}

const listBelow = (news: HTMLElement | null) => news?.parentElement?.querySelector('ul')

/** The address without the filters that hide matches. */
function withoutFilters(search: InboxSearch, filters: readonly string[]): InboxSearch {
  const names = filters.map((name) => (name === 'assignee' ? 'mine' : name))
  const kept: InboxSearch = Object.fromEntries(Object.entries(search).filter(([name]) => !names.includes(name)))
  return names.includes('status') ? { ...kept, status: 'all' } : kept
}

function Hidden({ hidden }: { hidden: HiddenMatches }) {
  const navigate = useNavigate({ from: '/inbox/{-$chatId}' })
  const filters = hidden.filters.map((name) => text.inbox.filterNames[name] ?? name)
  const show = () => navigate({ search: (kept): InboxSearch => withoutFilters(kept, hidden.filters) })
  return (
    <Empty icon="search" title={text.inbox.noMatch} text={text.hiddenMatches(hidden, filters)}>
      <Button onClick={show}>{text.showHidden}</Button>
    </Empty>
  )
}

function NoRows({ filter, hidden }: { filter: Filter; hidden?: HiddenMatches | null | undefined }) {
  const navigate = useNavigate()
  const { features } = useSession()
  const { status, ...others } = filter
  const isPlain = Object.keys(others).length === 0 && (status === undefined || status === 'open')
  const clear = () =>
    navigate({ to: '.', search: ({ as }: { as?: number }): InboxSearch => ({ ...(as && { as }), status: 'all' }) })
  if (hidden) return <Hidden hidden={hidden} />
  if (!isPlain) {
    return (
      <Empty icon="search" title={text.inbox.noMatch} text={text.inbox.noMatchText}>
        <Button onClick={clear}>{text.clearFilters}</Button>
      </Empty>
    )
  }
  return (
    <Empty icon="inbox" title={text.inbox.none} text={text.inbox.noneText}>
      {features.sandboxUrl !== null && (
        <Button icon="phone" onClick={() => navigate({ to: '/phone' })}>
          {text.inbox.openPhone}
        </Button>
      )}
      {status === 'open' && <Button onClick={clear}>{text.inbox.showAll}</Button>}
    </Empty>
  )
}

/** A conversation that moved while pages were read may stand on two of them. */
const withoutRepeats = (rows: Conversation[]): Conversation[] =>
  [...new Map(rows.toReversed().map((row) => [row.chatId, row])).values()].reverse()
