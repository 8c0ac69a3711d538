import { queryOptions } from '@tanstack/react-query'
import { api } from '../../../client.ts'

/** The quick replies of the company by title. */
export const quickRepliesQuery = queryOptions({
  queryKey: ['quick-replies'],
  queryFn: async ({ signal }) => (await api.listQuickReplies({ signal })).data,
})
