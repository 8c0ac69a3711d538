import type { Person } from '../people/person-erasure-store.ts'
import { emailKey, storedKeys } from '../platform/text/email-address.ts'
import { writtenForms } from '../platform/text/phone.ts'

export type Subject = {
  readonly email: string | null
  /** Every written phone form, in digits, and user ids. */
  readonly identities: readonly string[]
  /** Last erasable consent ledger entry: later ones belong to another person. */
  readonly lastConsentId?: number
}

export const toSubject = ({ emailKey: key, identities }: Person): Subject => ({
  email: key && emailKey(key),
  identities: identities.flatMap(writtenForms),
})

/** Returns the texts that identify the person, in lower case. */
export const textsOf = ({ email, identities }: Subject): string[] =>
  [...identities, ...(email === null ? [] : storedKeys(email))].map((text) => text.toLowerCase())

export const writersOf = ({ identities }: Subject): string[] =>
  identities.flatMap((identity) => [identity, `+${identity}`])
