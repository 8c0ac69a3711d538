import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useSyncExternalStore } from 'react'
import { api, type EventList, type KeptEvent } from '../client.ts'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/feedback/empty.tsx'
import { Failure } from '../parts/feedback/failure.tsx'
import { faultText } from '../parts/feedback/failure-text.ts'
import { StateLine } from '../parts/feedback/state-line.tsx'
import { PausedSearch } from '../parts/forms/paused-search.tsx'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import { type Column, Table } from '../parts/lists/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import type { EventSearch } from '../search.ts'
import { Screen } from '../shell/screen.tsx'
import { eventText } from '../texts/events.ts'
import { ago, utc } from '../texts/format.ts'
import { text } from '../texts/text.ts'
import { EVENTS, eventsQuery } from './event-queries.ts'
import css from './events.module.css'

const ROW_PX = 44
const NARROW_ROW_PX = 72
const LISTS = [
  { value: 'failed', label: eventText.failed },
  { value: 'unroutable', label: eventText.unroutable },
] as const
const route = getRouteApi('/events')

/** Failed and unroutable inbound events; retries one, or all that match the filters. */
export function Events() {
  return (
    <Screen title={eventText.title} part="events">
      <Content />
    </Screen>
  )
}

function Content() {
  const { list = 'failed', reason, number } = route.useSearch()
  const navigate = route.useNavigate()
  const filter = { ...(reason && { reason }), ...(number && { phoneNumberId: number }) }
  const query = useInfiniteQuery(eventsQuery(list, filter))
  const listed = query.data?.pages.flat() ?? []
  const retry = useRetry(() => api.retryEvents(list, filter))
  const show = (change: Change) => {
    retry.reset()
    void navigate({ search: (search) => JSON.parse(JSON.stringify({ ...search, ...change })), replace: true })
  }
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h2 className={css.title}>{eventText.title}</h2>
        <Button
          className={css.all}
          icon="refresh"
          disabled={listed.length === 0 && !retry.isPending}
          isBusy={retry.isPending}
          onClick={() => retry.mutate()}
        >
          {eventText.retryAll(listed.length, query.hasNextPage)}
        </Button>
        <p className={css.intro}>{eventText.intro}</p>
      </header>
      <Filters search={{ list, reason, number }} onChange={show} />
      <div className={css.outcome} role="status">
        {retry.error && <StateLine tone="bad">{faultText(retry.error)}</StateLine>}
        {retry.data && (
          <StateLine tone={retry.data.count > 0 ? 'good' : 'plain'}>
            {eventText.retried[list](retry.data.count)}
          </StateLine>
        )}
      </div>
      <div className={css.rows}>
        {query.data === undefined ? (
          query.error ? (
            <Failure error={query.error} retry={query.refetch} />
          ) : (
            <Skeleton rows={4} />
          )
        ) : listed.length > 0 ? (
          <Rows list={list} rows={listed} query={query} />
        ) : (
          <Nothing
            list={list}
            isFiltered={Object.keys(filter).length > 0}
            onClear={() => show({ reason: undefined, number: undefined })}
          />
        )}
      </div>
    </div>
  )
}

type Change = { [Key in keyof EventSearch]: EventSearch[Key] | undefined }
type FiltersProps = {
  search: { list: EventList; reason: string | undefined; number: string | undefined }
  onChange: (change: Change) => void
}

function Filters({ search, onChange }: FiltersProps) {
  return (
    <div className={css.bar}>
      <Tabs
        label={eventText.lists}
        value={search.list}
        choices={LISTS}
        onChange={(chosen) => onChange({ list: chosen === 'failed' ? undefined : chosen })}
      />
      <div className={css.search}>
        <PausedSearch
          label={eventText.reason}
          value={search.reason ?? ''}
          onChange={(value) => onChange({ reason: value || undefined })}
        />
      </div>
      <div className={css.search}>
        <PausedSearch
          label={eventText.numberFilter}
          value={search.number ?? ''}
          onChange={(value) => onChange({ number: value || undefined })}
        />
      </div>
    </div>
  )
}

/** A retry; refetches the lists afterwards. */
function useRetry<Answer>(act: () => Promise<Answer>) {
  const client = useQueryClient()
  return useMutation({ mutationFn: act, onSettled: () => client.invalidateQueries({ queryKey: EVENTS }) })
}

type RowsProps = {
  list: EventList
  rows: readonly KeptEvent[]
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }
}

function Rows({ list, rows, query: { hasNextPage, isFetchingNextPage, fetchNextPage } }: RowsProps) {
  const isNarrow = useIsNarrow()
  const onView = useCallback(
    (last: number) => {
      if (hasNextPage && !isFetchingNextPage && last >= rows.length - 1) void fetchNextPage()
    },
    [hasNextPage, isFetchingNextPage, fetchNextPage, rows.length],
  )
  return (
    <Table
      key={String(isNarrow)}
      label={eventText.title}
      columns={list === 'failed' ? [...COLUMNS, RETRY] : [...COLUMNS, STATE]}
      layout={css.columns}
      rows={rows}
      keyOf={({ id }) => id}
      isPlain={list === 'unroutable'}
      rowPx={isNarrow ? NARROW_ROW_PX : ROW_PX}
      onView={onView}
    />
  )
}

const NARROW = matchMedia('(max-width: 899px)')
const onNarrow = (act: () => void) => {
  NARROW.addEventListener('change', act)
  return () => NARROW.removeEventListener('change', act)
}
/** Whether the columns of a small window are shown: the reason takes two lines there. */
const useIsNarrow = () => useSyncExternalStore(onNarrow, () => NARROW.matches)

function Nothing({ list, isFiltered, onClear }: { list: EventList; isFiltered: boolean; onClear: () => void }) {
  if (isFiltered) {
    return (
      <Empty icon="search" title={eventText.noMatch}>
        <Button onClick={onClear}>{text.clearFilters}</Button>
      </Empty>
    )
  }
  return list === 'failed' ? (
    <Empty icon="check" title={eventText.noFailed} text={eventText.noFailedText} />
  ) : (
    <Empty icon="check" title={eventText.noUnroutable} text={eventText.noUnroutableText} />
  )
}

const sourceOf = ({ phoneNumberId, wabaAccountId, app }: KeptEvent) => phoneNumberId ?? wabaAccountId ?? app ?? '–'

function Age({ at }: { at: string }) {
  return (
    <time dateTime={at} title={utc(at)}>
      {ago(at)}
    </time>
  )
}

function Reason({ event }: { event: KeptEvent }) {
  return (
    <>
      <bdi className={css.reason} title={event.reason}>
        {event.reason}
      </bdi>
      <span className={css.below}>
        {sourceOf(event)} · <Age at={event.receivedAt} />
      </span>
    </>
  )
}

const COLUMNS: readonly Column<KeptEvent>[] = [
  { name: 'reason', label: eventText.reason, cell: (event) => <Reason event={event} /> },
  { name: 'source', label: eventText.source, isWide: true, cell: sourceOf },
  { name: 'age', label: eventText.age, isWide: true, cell: ({ receivedAt }) => <Age at={receivedAt} /> },
]
const RETRY: Column<KeptEvent> = { name: 'retry', label: '', cell: ({ id }) => <Retry id={id} /> }
const STATE: Column<KeptEvent> = {
  name: 'state',
  label: eventText.state,
  isWide: true,
  cell: ({ state }) => eventText.states[state] ?? state,
}

function Retry({ id }: { id: number }) {
  const retry = useRetry(() => api.retryEvent(id))
  const { error } = retry
  return (
    <div className={css.retry}>
      <Button
        look="quiet"
        icon={error ? 'alert' : 'refresh'}
        title={error ? faultText(error) : undefined}
        aria-label={eventText.retryOne(id)}
        isBusy={retry.isPending}
        onClick={() => retry.mutate()}
      >
        {eventText.retry}
      </Button>
    </div>
  )
}
