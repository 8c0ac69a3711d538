import { queryOptions, useQuery } from '@tanstack/react-query'
import { api } from '../client.ts'
import { actingFor } from '../scope.ts'
import { text } from '../texts/text.ts'

export const companiesQuery = queryOptions({ queryKey: ['companies'], queryFn: () => api.listCompanies() })

/** The name of the company that the operator acts for; undefined when the page acts for none. */
export function useActingName(): string | undefined {
  const { data } = useQuery({ ...companiesQuery, enabled: actingFor !== undefined })
  if (actingFor === undefined) return undefined
  return data?.find(({ id }) => id === actingFor)?.name ?? text.acting.thisCompany(actingFor)
}
