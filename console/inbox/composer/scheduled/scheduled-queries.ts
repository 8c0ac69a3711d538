import { queryOptions } from '@tanstack/react-query'
import { api } from '../../../client.ts'

/** Messages of a conversation that wait for their time, and those that were not sent then; the next one first. */
export const scheduledQuery = (chatId: number) =>
  queryOptions({
    queryKey: ['scheduled', chatId],
    queryFn: async ({ signal }) => {
      const { data } = await api.listScheduledMessages({ chatId, status: 'scheduled,failed' }, { signal })
      return data.sort((one, other) => Date.parse(one.sendAt) - Date.parse(other.sendAt))
    },
  })
