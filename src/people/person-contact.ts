import { phoneIdentity } from '../platform/text/phone.ts'

type PersonContacts<Contact> = {
  readonly attached: Contact | undefined
  readonly phone: string | null
  readonly holders: ReadonlyMap<string, Contact>
}

/**
 * Returns a person's contact: the attached one, else the oldest with the current number, else the oldest with another
 * number. Messages, sends and contact writes must all use this rule.
 */
export function contactOf<Contact extends { readonly id: number }>({
  attached,
  phone,
  holders,
}: PersonContacts<Contact>): Contact | undefined {
  if (attached !== undefined) return attached
  const current = phone === null ? undefined : holders.get(phoneIdentity(phone))
  return current ?? oldest(holders.values())
}

export function oldest<Contact extends { readonly id: number }>(contacts: Iterable<Contact>): Contact | undefined {
  let first: Contact | undefined
  for (const contact of contacts) if (first === undefined || contact.id < first.id) first = contact
  return first
}
