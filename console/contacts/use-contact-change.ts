import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Contact, ContactWrite } from '../../client/src/generated/schemas.ts'
import { ApiError, api } from '../client.ts'
import { faultText } from '../parts/feedback/failure-text.ts'
import { contactText } from '../texts/contacts.ts'
import { contactQuery } from './contact-queries.ts'

/** Writes members of a contact, and shows the contact as it was stored. */
export function useContactChange({ id }: Pick<Contact, 'id'>, onDone: () => void) {
  const client = useQueryClient()
  const { mutate, error, isPending, reset } = useMutation({
    mutationFn: async (write: ContactWrite) => (await api.updateContact({ id }, write)).data,
    onSuccess: (contact) => {
      client.setQueryData(contactQuery(id).queryKey, (shown) => ({ ...shown, ...contact }))
      void client.invalidateQueries({ queryKey: ['contact', id] })
      void client.invalidateQueries({ queryKey: ['contacts'] })
      onDone()
    },
  })
  return { change: mutate, isBusy: isPending, fault: error ? faultOf(error) : undefined, forget: reset }
}

/** The fault of a value in words; the service names the member. */
function faultOf(error: unknown): string {
  const { faults } = contactText
  const path = error instanceof ApiError ? error.fields[0]?.path : undefined
  if (path === 'email') return faults.email
  if (path === 'phone') return faults.phone
  if (error instanceof ApiError && error.code === 'invalid_phone_number') return faults.phone
  return faultText(error)
}
