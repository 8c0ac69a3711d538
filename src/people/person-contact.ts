import { emailKey } from '../platform/text/email-address.ts'
import { phoneIdentity } from '../platform/text/phone.ts'
import type { ContactState } from './contact-store.ts'
import type { Match, Named } from './matching/identity-store.ts'

/**
 * Returns a person's contact among unattached ones by number: the oldest with the current number, else the oldest with
 * another one. Messages, sends and contact writes must all use this rule.
 */
export function contactOf<Contact extends { readonly id: number }>(
  phone: string | null,
  holders: ReadonlyMap<string, Contact>,
): Contact | undefined {
  const current = phone === null ? undefined : holders.get(phoneIdentity(phone))
  return current ?? oldest(holders.values())
}

function oldest<Contact extends { readonly id: number }>(contacts: Iterable<Contact>): Contact | undefined {
  let first: Contact | undefined
  for (const contact of contacts) if (first === undefined || contact.id < first.id) first = contact
  return first
}

/** A contact in a batch of writes; `state` is undefined before a new one is created. */
export type BatchContact = {
  id: number
  readonly existing: Match | undefined
  state: ContactState | undefined
  readonly leftPhones: Set<string>
}

export const newBatchContact = (id: number, existing?: Match): BatchContact => ({
  ...{ id, existing, state: existing, leftPhones: new Set() },
})

/**
 * Finds the contact a write is about (spec: Contacts, Matching rules): the one with its email, else the oldest with its
 * phone, else its customer's. An id applies only while email and phone are equal. Each write sees earlier ones.
 */
export function indexContacts(matches: readonly Match[]) {
  const byId = new Map(matches.map((match) => [match.id, newBatchContact(match.id, match)]))
  const byEmail = new Map<string, BatchContact>()
  /** Used only while no contact has the number. */
  const byCustomer = new Map<string, BatchContact>()
  const holders = new Map<string, Set<BatchContact>>()

  const addHolder = (phone: string, contact: BatchContact) => {
    const holding = holders.get(phone)
    if (holding === undefined) holders.set(phone, new Set([contact]))
    else holding.add(contact)
  }
  for (const match of matches) {
    const contact = byId.get(match.id) ?? newBatchContact(match.id, match)
    if (match.emailKey) byEmail.set(match.emailKey, contact)
    if (match.phoneIdentity) addHolder(match.phoneIdentity, contact)
    for (const identity of match.identities) byCustomer.set(identity, contact)
  }

  return {
    find: ({ id, emailKey: email, phoneIdentity: phone }: Named): BatchContact | undefined => {
      const named = id === undefined ? undefined : byId.get(id)
      if (named && emailKeyOf(named.state) === email && (named.state?.phoneIdentity ?? null) === phone) return named
      const addressed = email === null ? undefined : byEmail.get(email)
      if (addressed !== undefined || phone === null) return addressed
      return oldest(holders.get(phone) ?? []) ?? customerContact(byCustomer.get(phone))
    },
    move: (contact: BatchContact, after: ContactState): void => {
      const [emailBefore, emailAfter] = [emailKeyOf(contact.state), emailKeyOf(after)]
      if (emailBefore !== null && emailBefore !== emailAfter) byEmail.delete(emailBefore)
      if (emailAfter !== null) byEmail.set(emailAfter, contact)
      const [phoneBefore, phoneAfter] = [contact.state?.phoneIdentity ?? null, after.phoneIdentity]
      contact.state = after
      if (phoneBefore === phoneAfter) return
      if (phoneAfter !== null) addHolder(phoneAfter, contact)
      if (phoneBefore === null) return
      contact.leftPhones.add(phoneBefore)
      holders.get(phoneBefore)?.delete(contact)
    },
  }
}

/** A contact matches its customers' identities, unless it has a phone outside them. */
function customerContact(contact: BatchContact | undefined): BatchContact | undefined {
  const phone = contact?.state?.phoneIdentity ?? null
  return phone === null || contact?.existing?.identities.includes(phone) ? contact : undefined
}

export const emailKeyOf = (state: Pick<ContactState, 'email'> | undefined): string | null =>
  state === undefined || state.email === null ? null : emailKey(state.email)
