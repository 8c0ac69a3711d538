import { hashKey, QueryClient, type QueryKey } from '@tanstack/react-query'
import { ApiError } from './client.ts'

const MAX_RETRIES = 2
const SECOND_MS = 1_000

/** The cache of everything that was read. Live events keep it fresh; without them, the focus and intervals do. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30 * SECOND_MS,
      retry: (failures, error) => failures < MAX_RETRIES && isPassing(error),
      retryDelay: (failures) => SECOND_MS * 2 ** failures,
      // The page knows when it is offline; a request that fails then is shown like any other.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

/** Whether the same request may succeed a moment later. */
const isPassing = (error: unknown): boolean => error instanceof ApiError && (error.status === 0 || error.status >= 500)

const due = new Map<string, ReturnType<typeof setTimeout>>()

/** Reads what belongs to a key again, at most once per second however many events ask for it. */
export function invalidateSoon(client: QueryClient, queryKey: QueryKey): void {
  const name = hashKey(queryKey)
  if (due.has(name)) return
  const timer = setTimeout(() => {
    due.delete(name)
    void client.invalidateQueries({ queryKey })
  }, SECOND_MS)
  due.set(name, timer)
}
