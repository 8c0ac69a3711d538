import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import type { Contact, HiddenMatches } from '../../../client/src/generated/schemas.ts'
import { Avatar } from '../../parts/avatar.tsx'
import { Button } from '../../parts/button.tsx'
import { Badge } from '../../parts/feedback/badge.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { Failure } from '../../parts/feedback/failure.tsx'
import { Skeleton } from '../../parts/lists/skeleton.tsx'
import { type Column, Table } from '../../parts/lists/table.tsx'
import type { ContactSearch } from '../../search.ts'
import { contactText } from '../../texts/contacts.ts'
import { moment, utc } from '../../texts/format.ts'
import { text } from '../../texts/text.ts'
import { contactsQuery, filterOf, nameOf } from '../contact-queries.ts'
import css from './contact-list.module.css'

const ROW_PX = 52
const CHANNELS = ['whatsapp', 'email'] as const

const COLUMNS: readonly Column<Contact>[] = [
  { name: 'name', label: contactText.columns.name, cell: (contact) => <Name contact={contact} /> },
  { name: 'email', label: contactText.columns.email, isWide: true, cell: ({ email }) => email },
  {
    name: 'phone',
    label: contactText.columns.phone,
    isWide: true,
    cell: ({ phone }) => phone !== null && text.phoneNumber(phone),
  },
  {
    name: 'consent',
    label: contactText.columns.consent,
    isWide: true,
    cell: (contact) => <Consents contact={contact} />,
  },
  {
    name: 'tags',
    label: contactText.columns.tags,
    isWide: true,
    cell: ({ tags }) => <bdi title={tags.join(', ')}>{tags.join(', ')}</bdi>,
  },
  {
    name: 'changed',
    label: contactText.columns.changed,
    cell: ({ updated_at }) => (
      <time dateTime={updated_at} title={utc(updated_at)} className={css.soft}>
        {moment(updated_at)}
      </time>
    ),
  },
]

/** The contacts that match, and how many. */
export function ContactList({ search }: { search: ContactSearch }) {
  const filter = filterOf(search)
  const query = useInfiniteQuery(contactsQuery(filter, search.sort))
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  const rows = withoutRepeats(data?.pages.flatMap((page) => page.data) ?? [])
  const last = data?.pages.at(-1)
  // An empty page before the end: the next may be as empty, so that the user decides.
  const isStuck = hasNextPage && last?.data.length === 0
  const onView = useCallback(
    (shown: number) => {
      if (hasNextPage && !isStuck && !isFetchingNextPage && shown >= rows.length - 1) void fetchNextPage()
    },
    [hasNextPage, isStuck, isFetchingNextPage, fetchNextPage, rows.length],
  )
  if (data === undefined || last === undefined) {
    return <div className={css.rows}>{error ? <Failure error={error} retry={refetch} /> : <Skeleton rows={8} />}</div>
  }
  const further = isStuck && (
    <Button icon="search" isBusy={isFetchingNextPage} onClick={() => fetchNextPage()}>
      {contactText.further}
    </Button>
  )
  if (rows.length === 0) {
    return (
      <div className={css.rows}>
        {further ? (
          <Empty icon="search" title={contactText.notYet} text={contactText.notYetText}>
            {further}
          </Empty>
        ) : (
          <NoRows isFiltered={Object.keys(filter).length > 0} hidden={data.pages[0]?.hiddenMatches ?? null} />
        )}
      </div>
    )
  }
  const { total, totalIsExact } = last.pagination
  const isTotalKnown = totalIsExact || !hasNextPage
  const shown = hasNextPage || totalIsExact ? Math.max(total, rows.length) : rows.length
  return (
    <>
      <div className={css.rows}>
        <Table
          label={contactText.list}
          columns={COLUMNS}
          layout={css.columns}
          rows={rows}
          keyOf={({ id }) => id}
          rowPx={ROW_PX}
          total={isTotalKnown ? shown : undefined}
          onView={onView}
        />
      </div>
      <p className={css.total}>
        {isTotalKnown ? contactText.total(shown) : contactText.totalAtLeast(shown)}
        {further}
      </p>
    </>
  )
}

function Name({ contact }: { contact: Contact }) {
  const { id, email, phone, status } = contact
  const name = nameOf(contact)
  const address = email ?? (phone === null ? null : text.phoneNumber(phone))
  return (
    <span className={css.name}>
      <Avatar name={name} seed={id} />
      <span className={css.names}>
        <Link
          from="/contacts/{-$id}"
          params={{ id: String(id) }}
          search={(kept) => kept}
          className={css.link ?? ''}
          data-contact={id}
        >
          <bdi>{name ?? address ?? contactText.noName}</bdi>
        </Link>
        {name !== null && <span className={css.address}>{address}</span>}
      </span>
      {status !== 'active' && <Badge tone="warn">{status}</Badge>}
    </span>
  )
}

function Consents({ contact: { marketing_consent } }: { contact: Contact }) {
  return (
    <span className={css.consents}>
      {CHANNELS.map((channel) => {
        const value = marketing_consent[channel]
        if (value === null) return null
        return (
          <Badge key={channel} tone={value ? 'good' : 'bad'}>
            {`${contactText.channels[channel]}: ${value ? text.contact.yes : text.contact.no}`}
          </Badge>
        )
      })}
    </span>
  )
}

/** Returns the address parameter for an API filter. */
const partOf = (name: string): string => (name.endsWith('Consent') ? 'consent' : name)

function NoRows({ isFiltered, hidden }: { isFiltered: boolean; hidden: HiddenMatches | null }) {
  const navigate = useNavigate({ from: '/contacts/{-$id}' })
  if (!isFiltered) return <Empty icon="person" title={contactText.none} text={contactText.noneText} />
  const clear = () => navigate({ search: ({ sort }): ContactSearch => (sort === undefined ? {} : { sort }) })
  if (hidden !== null) {
    const parts = hidden.filters.map(partOf)
    const show = () =>
      navigate({
        search: (kept): ContactSearch =>
          Object.fromEntries(Object.entries(kept).filter(([name]) => !parts.includes(name))),
      })
    const filters = parts.map((part) => contactText.filterNames[part] ?? part)
    return (
      <Empty icon="search" title={contactText.noMatch} text={text.hiddenMatches(hidden, filters)}>
        <Button onClick={show}>{text.showHidden}</Button>
      </Empty>
    )
  }
  return (
    <Empty icon="search" title={contactText.noMatch} text={contactText.noMatchText}>
      <Button onClick={clear}>{text.clearFilters}</Button>
    </Empty>
  )
}

/** A contact that was changed while pages were read may stand on two of them. */
const withoutRepeats = (rows: Contact[]): Contact[] => [...new Map(rows.map((row) => [row.id, row])).values()]
