import { queryOptions, useQuery } from '@tanstack/react-query'
import { api } from '../client.ts'

const PAGE_ROWS = 100

type SenderPage = Awaited<ReturnType<typeof api.listSenders>>

const numbersQuery = queryOptions({
  queryKey: ['numbers'],
  queryFn: async ({ signal }) => {
    const numbers: { channelId: number; phoneNumber: string }[] = []
    for (let page: number | null = 1; page !== null; ) {
      const answer: SenderPage = await api.listSenders({ page, pageSize: PAGE_ROWS }, { signal })
      numbers.push(...answer.items)
      page = answer.pagination.nextPage
    }
    return numbers
  },
})

/** The connected numbers of the business, each with the id by which the list is filtered. */
export const useNumbers = (): { channelId: number; phoneNumber: string }[] => useQuery(numbersQuery).data ?? []
