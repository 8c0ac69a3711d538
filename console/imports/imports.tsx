import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import type { ListedImport } from '../../client/src/generated/schemas.ts'
import { IconButton } from '../parts/button.tsx'
import { Badge } from '../parts/feedback/badge.tsx'
import { Empty } from '../parts/feedback/empty.tsx'
import { Failure } from '../parts/feedback/failure.tsx'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import { type Column, Table } from '../parts/lists/table.tsx'
import pane from '../parts/pane.module.css'
import { Screen } from '../shell/screen.tsx'
import { dateAndTime, number, utc } from '../texts/format.ts'
import { importText } from '../texts/imports.ts'
import { FileChoice } from './file-choice.tsx'
import { ImportPane } from './import-pane.tsx'
import { importsQuery, TONES } from './import-queries.ts'
import css from './imports.module.css'
import { NewImport } from './new-import.tsx'

const ROW_PX = 44

const COLUMNS: readonly Column<ListedImport>[] = [
  {
    name: 'name',
    label: importText.started,
    cell: ({ id, created_at }) => (
      <Link from="/imports/{-$id}" params={{ id: String(id) }} className={css.link ?? ''} data-import={id}>
        <time dateTime={created_at} title={utc(created_at)}>
          {dateAndTime(created_at)}
        </time>
      </Link>
    ),
  },
  {
    name: 'status',
    label: importText.status,
    cell: ({ status }) => <Badge tone={TONES[status]}>{importText.states[status]}</Badge>,
  },
  {
    name: 'progress',
    label: importText.rows,
    isWide: true,
    cell: ({ rows_read, rows }) => importText.progress(rows_read, rows),
  },
  { name: 'refused', label: importText.counts.refused, isWide: true, cell: ({ refused }) => number(refused) },
]

/** The imports of the company, the one that is open, or the file that is about to be imported. */
export function Imports() {
  const { id } = useParams({ from: '/imports/{-$id}' })
  const [file, choose] = useState<File>()
  const navigate = useNavigate()
  return (
    <Screen title={importText.title} part="contacts">
      <div className={pane.pane}>
        {id !== undefined ? (
          <ImportPane key={id} id={Number(id)} />
        ) : file !== undefined ? (
          <NewImport
            key={`${file.name} ${file.lastModified} ${file.size}`}
            file={file}
            onLeave={() => choose(undefined)}
          />
        ) : (
          <>
            <header className={pane.head}>
              <IconButton
                icon="back"
                label={importText.toContacts}
                onClick={() => navigate({ to: '/contacts/{-$id}', params: { id: undefined } })}
              />
              <h2>{importText.title}</h2>
            </header>
            <FileChoice onChoose={choose} />
            <List />
          </>
        )}
      </div>
    </Screen>
  )
}

function List() {
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(importsQuery)
  const rows = data?.pages.flat() ?? []
  const onView = useCallback(
    (last: number) => {
      if (hasNextPage && !isFetchingNextPage && last >= rows.length - 1) void fetchNextPage()
    },
    [hasNextPage, isFetchingNextPage, fetchNextPage, rows.length],
  )
  if (data === undefined) return error ? <Failure error={error} retry={refetch} /> : <Skeleton rows={4} />
  if (rows.length === 0) return <Empty icon="file" title={importText.none} text={importText.noneText} />
  return (
    <div className={css.list}>
      <Table
        label={importText.list}
        columns={COLUMNS}
        layout={css.columns}
        rows={rows}
        keyOf={({ id }) => id}
        rowPx={ROW_PX}
        onView={onView}
      />
    </div>
  )
}
