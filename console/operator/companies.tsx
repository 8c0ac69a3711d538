import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Company } from '../client.ts'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/feedback/empty.tsx'
import { Failure } from '../parts/feedback/failure.tsx'
import { SearchField } from '../parts/forms/search-field.tsx'
import { Skeleton } from '../parts/lists/skeleton.tsx'
import { actingFor } from '../scope.ts'
import { companiesQuery } from '../shell/acting.ts'
import { Screen } from '../shell/screen.tsx'
import { dateAndTime, number } from '../texts/format.ts'
import { text } from '../texts/text.ts'
import css from './companies.module.css'

/** The companies of the installation, the newest first: the operator chooses the one to act for. */
export function Companies() {
  return (
    <Screen title={text.companies.title} part="companies">
      <div className={css.page}>
        <h2 className={css.title}>{text.companies.title}</h2>
        <p className={css.intro}>{text.companies.intro}</p>
        <All />
      </div>
    </Screen>
  )
}

function All() {
  const { data, error, refetch } = useQuery(companiesQuery)
  if (data === undefined) return error ? <Failure error={error} retry={refetch} /> : <Skeleton rows={4} />
  if (data.length === 0) return <Empty icon="companies" title={text.companies.none} text={text.companies.noneText} />
  return <Searched companies={data} />
}

function Searched({ companies }: { companies: readonly Company[] }) {
  const [search, setSearch] = useState('')
  const searched = search.trim().toLowerCase()
  const found = companies
    .filter(({ id, name }) => name.toLowerCase().includes(searched) || String(id) === searched)
    .sort((one, other) => other.id - one.id)
  return (
    <>
      <div className={css.search}>
        <SearchField label={text.companies.search} value={search} onChange={setSearch} />
      </div>
      {found.length === 0 ? (
        <Empty icon="search" title={text.companies.noMatch}>
          <Button onClick={() => setSearch('')}>{text.clearSearch}</Button>
        </Empty>
      ) : (
        <Table companies={found} />
      )}
    </>
  )
}

function Table({ companies }: { companies: readonly Company[] }) {
  return (
    <table className={css.table}>
      <thead>
        <tr>
          <th scope="col">{text.companies.name}</th>
          <th scope="col">{text.companies.id}</th>
          <th scope="col">{text.companies.limit}</th>
          <th scope="col">{text.companies.created}</th>
          <td />
        </tr>
      </thead>
      <tbody>
        {companies.map(({ id, name, rateLimitPerMinute, createdAt }) => (
          <tr key={id} aria-current={id === actingFor || undefined}>
            <th scope="row">
              <bdi>{name}</bdi>
            </th>
            <td>{id}</td>
            <td>{number(rateLimitPerMinute)}</td>
            <td>{dateAndTime(createdAt)}</td>
            <td>
              <Button aria-label={text.companies.open(name)} onClick={() => location.assign(`/console/inbox?as=${id}`)}>
                {text.companies.act}
              </Button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
