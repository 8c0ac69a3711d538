import { queryOptions, useQuery } from '@tanstack/react-query'
import { api } from '../client.ts'

const PAGE_ROWS = 100

type SenderPage = Awaited<ReturnType<typeof api.listSenders>>

const numbersQuery = queryOptions({
  queryKey: ['numbers'],
  queryFn: async ({ signal }) => {
    const numbers: { channelId: number; phoneNumber: string }[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const cursor = after === undefined ? {} : { after }
      const answer: SenderPage = await api.listSenders({ ...cursor, pageSize: PAGE_ROWS }, { signal })
      numbers.push(...answer.items)
      after = answer.pagination.nextCursor
    }
    return numbers
  },
})

/** The connected numbers of the business, each with the id by which the list is filtered. */
export const useNumbers = (): { channelId: number; phoneNumber: string }[] => useQuery(numbersQuery).data ?? []
