import { queryOptions } from '@tanstack/react-query'
import { api } from '../client.ts'

const MINUTE_MS = 60_000

/** The settings of the company that the inbox follows. */
export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: async ({ signal }) => (await api.getMe({ signal })).data.settings,
  staleTime: MINUTE_MS,
})
