import type { Person } from '../contacts/erasure/contact-erasure-store.ts'
import { emailKey, storedKeys } from '../platform/text/email-address.ts'
import { writtenForms } from '../platform/text/phone.ts'

/** The identities by which the data of a person is found, in addition to the contact's id. */
export type Subject = {
  /** In lower case. */
  readonly email: string | null
  /** Phone numbers in all their written forms, in digits, and user ids. */
  readonly identities: readonly string[]
  /** The last entry of the ledger of consent that may be erased: later ones are another person's. */
  readonly lastConsentId?: number
}

/** The texts by which stored data names the person: the email, and every written form of each identity. */
export const toSubject = ({ emailKey: key, identities }: Person): Subject => ({
  email: key && emailKey(key),
  identities: identities.flatMap(writtenForms),
})

/** The texts that name the person, in lower case. */
export const textsOf = ({ email, identities }: Subject): string[] =>
  [...identities, ...(email === null ? [] : storedKeys(email))].map((text) => text.toLowerCase())

/** How messages of groups show the person as their writer. */
export const writersOf = ({ identities }: Subject): string[] =>
  identities.flatMap((identity) => [identity, `+${identity}`])
