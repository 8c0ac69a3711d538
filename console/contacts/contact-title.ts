import { useNavigate } from '@tanstack/react-router'
import type { Contact } from '../../client/src/generated/schemas.ts'
import { contactText } from '../texts/contacts.ts'
import { text } from '../texts/text.ts'
import { nameOf } from './contact-queries.ts'

/** The name of a contact, or what stands for it. */
export const titleOf = (contact: Contact): string =>
  nameOf(contact) ?? contact.email ?? (contact.phone === null ? contactText.noName : text.phoneNumber(contact.phone))

/** Shows the list again, as it was filtered. */
export function useLeave() {
  const navigate = useNavigate({ from: '/contacts/{-$id}' })
  return () => navigate({ params: { id: undefined }, search: (kept) => kept })
}
