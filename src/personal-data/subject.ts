import { listConversationsOf } from '../conversations/writer-erasure-store.ts'
import type { Db } from '../db/connect.ts'
import { addressIdentity } from '../people/consent/consent.ts'
import type { Person } from '../people/person-erasure-store.ts'
import { emailKey, storedKeys } from '../platform/text/email-address.ts'
import { writtenForms } from '../platform/text/phone.ts'
import { conversationPerson } from '../webhooks/deliveries/delivery-store.ts'

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

/** Lists how envelopes without a message of the person refer to them. */
export async function listEnvelopePeople(
  db: Db,
  companyId: number,
  contactId: number,
  { identities, email }: Subject,
): Promise<string[]> {
  const conversations = await listConversationsOf(db, companyId, contactId)
  const addresses = email === null ? [] : [addressIdentity(email)]
  return [...identities, ...addresses, ...conversations.map(conversationPerson)]
}

export const toStatusSubject = (messageId: number): string => `msg_${messageId}`
export const toContactSubject = (contactId: number): string => `contact_${contactId}`
