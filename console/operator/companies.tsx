import { useQuery } from '@tanstack/react-query'
import { api } from '../client.ts'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Failure } from '../parts/failure.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { actingFor } from '../scope.ts'
import { Screen } from '../shell/screen.tsx'
import { dateAndTime, number } from '../texts/format.ts'
import { text } from '../texts/text.ts'
import css from './companies.module.css'

/** The companies of the installation: the operator chooses the one to act for. */
export function Companies() {
  const query = { queryKey: ['companies'], queryFn: () => api.listCompanies() }
  const { data, error, refetch } = useQuery(query)
  return (
    <Screen title={text.companies.title}>
      <div className={css.page}>
        <h2 className={css.title}>{text.companies.title}</h2>
        <p className={css.intro}>{text.companies.intro}</p>
        {data === undefined ? (
          error ? (
            <Failure error={error} retry={refetch} />
          ) : (
            <Skeleton rows={4} />
          )
        ) : data.length === 0 ? (
          <Empty icon="companies" title={text.companies.none} text={text.companies.noneText} />
        ) : (
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
              {data.map(({ id, name, rateLimitPerMinute, createdAt }) => (
                <tr key={id} aria-current={id === actingFor || undefined}>
                  <th scope="row">
                    <bdi>{name}</bdi>
                  </th>
                  <td>{id}</td>
                  <td>{number(rateLimitPerMinute)}</td>
                  <td>{dateAndTime(createdAt)}</td>
                  <td>
                    <Button
                      aria-label={text.companies.open(name)}
                      onClick={() => location.assign(`/console/inbox?as=${id}`)}
                    >
                      {text.companies.act}
                    </Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </Screen>
  )
}
