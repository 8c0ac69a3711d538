import { queryOptions } from '@tanstack/react-query'
import { api } from '../client.ts'

/** The operator changes them rarely. */
const SETTINGS_MS = 5 * 60_000

/** The settings of the company that the inbox follows. */
export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: async ({ signal }) => (await api.getMe({ signal })).data.settings,
  staleTime: SETTINGS_MS,
})
