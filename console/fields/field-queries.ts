import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { CustomField } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'

/** Of one order; the service takes no more. */
const ORDER_MAX_IDS = 1_000
const ORDER = ['custom-field-order']

/** The definitions of the company's custom fields in their order, the retired ones too. */
export const fieldsQuery = queryOptions({
  queryKey: ['custom-fields'],
  queryFn: async ({ signal }) => {
    const { data } = await api.listCustomFields({ includeRetired: true }, { signal })
    return Array.isArray(data) ? data : []
  },
})

export const isOffered = ({ retiredAt }: CustomField): boolean => retiredAt === null

/** Those that forms and filters offer. */
export const offeredFieldsQuery = queryOptions({ ...fieldsQuery, select: (fields) => fields.filter(isOffered) })

/** Changes the order. It is shown at once; orders that follow each other are stored one after the other. */
export function useOrder() {
  const client = useQueryClient()
  return useMutation({
    mutationKey: ORDER,
    scope: { id: 'custom-field-order' },
    mutationFn: (fields: readonly CustomField[]) =>
      api.orderCustomFields({ ids: fields.slice(0, ORDER_MAX_IDS).map(({ id }) => id) }),
    onMutate: async (fields) => {
      await client.cancelQueries(fieldsQuery)
      client.setQueryData(fieldsQuery.queryKey, [...fields])
    },
    // The last of several shows what is stored.
    onSettled: () =>
      client.isMutating({ mutationKey: ORDER }) > 1 ? undefined : client.invalidateQueries(fieldsQuery),
  })
}

/** Retires a field, or offers it again. */
export function useRetirement({ id }: CustomField) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (retired: boolean) => api.updateCustomField({ id }, { retired }),
    onSuccess: () => client.invalidateQueries(fieldsQuery),
  })
}
