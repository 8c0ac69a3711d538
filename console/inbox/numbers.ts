import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, read } from '../client.ts'

const PAGE_ROWS = 100

const numbersQuery = queryOptions({
  queryKey: ['numbers'],
  queryFn: async ({ signal }) => {
    const numbers: { channelId: number; phoneNumber: string }[] = []
    for (let page: number | null = 1; page !== null; ) {
      const query: { page: number; pageSize: number } = { page, pageSize: PAGE_ROWS }
      const answer = await read(api.GET('/public/v1/templates/whatsapp/senders', { params: { query }, signal }))
      numbers.push(...answer.items)
      page = answer.pagination.nextPage
    }
    return numbers
  },
})

/** The connected numbers of the business, each with the id by which the list is filtered. */
export const useNumbers = (): { channelId: number; phoneNumber: string }[] => useQuery(numbersQuery).data ?? []
