import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { ListedImport } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'
import type { Tone } from '../parts/feedback/badge.tsx'

const PAGE_ROWS = 50

export const importsQuery = infiniteQueryOptions({
  queryKey: ['imports', 'list'],
  queryFn: async ({ pageParam: before, signal }) =>
    (await api.listImports({ limit: PAGE_ROWS, ...(before !== undefined && { before }) }, { signal })).data,
  initialPageParam: undefined as number | undefined,
  getNextPageParam: (page) => (page.length < PAGE_ROWS ? undefined : page.at(-1)?.id),
})

export const importQuery = (id: number) =>
  queryOptions({
    queryKey: ['imports', 'one', id],
    queryFn: async ({ signal }) => (await api.getImport({ id }, { signal })).data,
  })

export const hasEnded = ({ status }: Pick<ListedImport, 'status'>): boolean =>
  status !== 'queued' && status !== 'running'

export const TONES: Record<ListedImport['status'], Tone> = {
  queued: 'plain',
  running: 'accent',
  completed: 'good',
  failed: 'bad',
  cancelled: 'warn',
}
