import { listConversationsOf } from '../conversations/writer-erasure-store.ts'
import type { Db } from '../db/connect.ts'
import { addressIdentity } from '../people/consent/consent.ts'
import { conversationPerson } from '../webhooks/deliveries/delivery-store.ts'
import type { Subject } from './subject.ts'

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
