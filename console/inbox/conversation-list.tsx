import { useInfiniteQuery, useQueries, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import type { Conversation } from '../../client/src/generated/schemas.ts'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Failure } from '../parts/failure.tsx'
import { List, MAX_ROWS } from '../parts/list.tsx'
import type { InboxSearch } from '../search.ts'
import { useSession } from '../shell/session-context.ts'
import { text } from '../texts/text.ts'
import css from './conversation-list.module.css'
import { type Filter, filteredQuery, numberedQuery, PAGE_ROWS } from './conversation-queries.ts'
import { ConversationRow, EmptyRow, ROW_PX } from './conversation-row.tsx'
import { setListInUse } from './live-inbox.ts'

/** A jump loads no page on its way: only what is in view when scrolling has stopped for this long. */
const STILL_MS = 80
const PAD_PX = 8
/** The rows that stand for a list on its way. */
const WAITING_ROWS = 14

/** The list for a filter: without one every row can be reached at once, with one the list grows from its top. */
export function ConversationList({ filter, shown }: { filter: Filter; shown: number | undefined }) {
  return Object.keys(filter).length === 0 ? <All shown={shown} /> : <Filtered filter={filter} shown={shown} />
}

function Filtered({ filter, shown }: { filter: Filter; shown: number | undefined }) {
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
  if (!isPending && rows.length === 0) return <NoRows filter={filter} />
  const count = isPending ? WAITING_ROWS : rows.length + (hasNextPage ? 1 : 0)
  return (
    <Rows count={count} rowAt={(index) => rows[index]} onView={onView} shown={shown}>
      {!isPending && (hasNextPage ? text.inbox.totalAtLeast(rows.length) : text.inbox.total(rows.length))}
    </Rows>
  )
}

function All({ shown }: { shown: number | undefined }) {
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
    <Rows count={total ?? WAITING_ROWS} rowAt={rowAt} onView={onView} shown={shown}>
      {typeof total === 'number' && text.inbox.total(total)}
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
  count: number
  rowAt: (index: number) => Conversation | undefined
  onView: (first: number, last: number) => void
  shown: number | undefined
  /** How many there are. */
  children: ReactNode
}

function Rows({ count, rowAt, onView, children }: RowsProps) {
  const client = useQueryClient()
  const use = (isInUse: boolean) => () => setListInUse(client, isInUse)
  return (
    <>
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
    </>
  )
}

function NoRows({ filter }: { filter: Filter }) {
  const navigate = useNavigate()
  const { features } = useSession()
  const { status, ...others } = filter
  const isPlain = Object.keys(others).length === 0 && (status === undefined || status === 'open')
  const clear = () =>
    navigate({ to: '.', search: ({ as }: { as?: number }): InboxSearch => ({ ...(as && { as }), status: 'all' }) })
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
