import { phoneIdentity } from '../platform/text/phone.ts'

/** Facts about the contacts of one person. */
export type PersonContacts<Contact> = {
  /** The contact that the customer is attached to, unless it is deleted. */
  readonly attached: Contact | undefined
  /** Digits of the number at which answers reach the person; null: there is none. */
  readonly phone: string | null
  /** By current phone identity of the person, the oldest living contact that has it and is attached to no customer. */
  readonly holders: ReadonlyMap<string, Contact>
}

/**
 * Returns the contact of a person, the same one for messages, sends and contact writes: the attached one, else the oldest with
 * the current number, else the oldest with another number of the person. Undefined: there is none yet.
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

/** The contact with the lowest id. */
export function oldest<Contact extends { readonly id: number }>(contacts: Iterable<Contact>): Contact | undefined {
  let first: Contact | undefined
  for (const contact of contacts) if (first === undefined || contact.id < first.id) first = contact
  return first
}
