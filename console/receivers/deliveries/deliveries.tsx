import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { Failure } from '../../parts/feedback/failure.tsx'
import { PausedSearch } from '../../parts/forms/paused-search.tsx'
import { Select } from '../../parts/forms/select.tsx'
import { List } from '../../parts/lists/list.tsx'
import { Skeleton } from '../../parts/lists/skeleton.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import type { ReceiverSearch } from '../../search.ts'
import { deliveryText } from '../../texts/receivers.ts'
import { text } from '../../texts/text.ts'
import { type DeliveryFilter, deliveriesQuery } from '../receiver-queries.ts'
import css from './deliveries.module.css'
import { DeliveryRow, ROW_PX } from './delivery-row.tsx'
import { RedeliverDialog } from './redeliver-dialog.tsx'

const DEFAULT_HOURS = 24

const STATUSES = [
  { value: 'all', label: deliveryText.all },
  { value: 'pending', label: deliveryText.pending },
  { value: 'delivered', label: deliveryText.delivered },
  { value: 'dead', label: deliveryText.dead },
] as const
const PERIODS = Object.entries(deliveryText.sinceHours).map(([value, label]) => ({ value, label }))

/** The deliveries of a period, by status. */
export function Deliveries({ receiverId, search }: { receiverId: number; search: ReceiverSearch }) {
  const { status, search: searched, hours = DEFAULT_HOURS } = search
  const navigate = useNavigate({ from: '/receivers/{-$id}' })
  const [isRedelivering, redeliver] = useState(false)
  const set = (change: ReceiverSearch, drop: keyof ReceiverSearch) =>
    navigate({
      search: ({ [drop]: _, delivery: __, ...kept }) => ({ ...kept, ...change }),
      replace: true,
    })
  const filter = { hours, ...(status && { status }), ...(searched && { search: searched }) }
  // Redelivery knows the filters of status and period only.
  const canRedeliver = (status === undefined || status === 'dead') && searched === undefined
  const clear = () => navigate({ search: ({ status: _, search: __, delivery: ___, ...kept }) => kept, replace: true })
  return (
    <section className={css.deliveries} aria-label={deliveryText.list}>
      <div className={css.bar}>
        <div className={css.search}>
          <PausedSearch
            hasKey
            label={deliveryText.search}
            value={searched ?? ''}
            onChange={(query) => set(query === '' ? {} : { search: query }, 'search')}
          />
        </div>
        <Tabs
          label={deliveryText.list}
          value={status ?? 'all'}
          choices={STATUSES}
          onChange={(chosen) => set(chosen === 'all' ? {} : { status: chosen }, 'status')}
        />
        <Select
          label={deliveryText.since}
          value={String(hours)}
          choices={PERIODS}
          onChange={(chosen) => set(Number(chosen) === DEFAULT_HOURS ? {} : { hours: Number(chosen) }, 'hours')}
        />
      </div>
      <Rows receiverId={receiverId} filter={filter} onClear={clear} />
      {canRedeliver && (
        <div className={css.foot}>
          <Button icon="refresh" onClick={() => redeliver(true)}>
            {deliveryText.redeliverThese}
          </Button>
        </div>
      )}
      {isRedelivering && (
        <RedeliverDialog
          receiverId={receiverId}
          hours={hours}
          isOnlyDead={status === 'dead'}
          onClose={() => redeliver(false)}
        />
      )}
    </section>
  )
}

type RowsProps = { receiverId: number; filter: DeliveryFilter; onClear: () => void }

function Rows({ receiverId, filter, onClear }: RowsProps) {
  const query = useInfiniteQuery(deliveriesQuery(receiverId, filter))
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  const rows = data?.pages.flatMap((page) => page.data) ?? []
  const onView = useCallback(
    (_first: number, last: number) => {
      if (hasNextPage && !isFetchingNextPage && last >= rows.length - 1) void fetchNextPage()
    },
    [hasNextPage, isFetchingNextPage, fetchNextPage, rows.length],
  )
  if (data === undefined) {
    return <div className={css.rows}>{error ? <Failure error={error} retry={refetch} /> : <Skeleton rows={6} />}</div>
  }
  if (rows.length === 0) {
    return (
      <div className={css.rows}>
        {filter.status === undefined && filter.search === undefined ? (
          <Empty icon="receivers" title={deliveryText.none} text={deliveryText.noneText} />
        ) : (
          <Empty icon="search" title={deliveryText.noMatch} text={deliveryText.noMatchText}>
            <Button onClick={onClear}>{text.clearFilters}</Button>
          </Empty>
        )}
      </div>
    )
  }
  return (
    <div className={css.rows}>
      <List
        label={deliveryText.list}
        count={rows.length}
        rowPx={ROW_PX}
        keyOf={(index) => rows[index]?.id ?? index}
        onView={onView}
      >
        {(index) => {
          const row = rows[index]
          return row && <DeliveryRow delivery={row} />
        }}
      </List>
    </div>
  )
}
