import type { Db } from '../../db/connect.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import type { Channel } from '../members/contact-record.ts'
import { addressIdentity } from './consent.ts'
import { findNamedInLedger, type PersonKey, readConsentFacts } from './consent-fact-store.ts'
import {
  type ConsentLedger,
  contactConsent,
  createConsentLedger,
  emailConsent,
  type LedgerContact,
  whatsappConsent,
} from './consent-ledger.ts'
import { lockContacts, type ShownConsents, writeShownConsents } from './consent-store.ts'

/**
 * The consent that counts on a channel for the persons with these identities, in the order of the keys: identities of
 * phones and user ids for WhatsApp, addresses in lower case for email. Null: nothing was said.
 */
export async function latestConsents(
  db: Db,
  channel: Channel,
  keys: readonly { companyId: number; identity: string }[],
): Promise<(boolean | null)[]> {
  const people = keys.map(({ companyId, identity }) => ({
    companyId,
    identity: channel === 'email' ? addressIdentity(identity) : identity,
  }))
  const ledgerOf = await readLedgers(db, people, [channel])
  return keys.map(({ companyId, identity }) => {
    const ledger = ledgerOf(companyId)
    const entry = channel === 'email' ? emailConsent(ledger, identity) : whatsappConsent(ledger, [identity])
    return entry?.value ?? null
  })
}

/** Whether marketing by email to this address is refused. */
export async function hasRefusedEmail(db: Db, companyId: number, email: string): Promise<boolean> {
  const [value] = await latestConsents(db, 'email', [{ companyId, identity: emailKey(email) }])
  return value === false
}

/** The ledger of each company, with what the consent of these persons depends on. */
export async function readLedgers(
  db: Db,
  keys: readonly PersonKey[],
  channels: readonly Channel[] = BOTH,
): Promise<(companyId: number) => ConsentLedger> {
  const factsOf = await readConsentFacts(db, keys, channels)
  const ledgers = new Map<number, ConsentLedger>()
  return (companyId) => {
    const ledger = ledgers.get(companyId) ?? createConsentLedger(factsOf(companyId))
    ledgers.set(companyId, ledger)
    return ledger
  }
}

const BOTH: readonly Channel[] = ['email', 'whatsapp']

type ContactKey = { readonly companyId: number; readonly contactId: number }

/**
 * Brings the consent that contacts show up to date, after entries were added to the ledger, or identities or contacts came to
 * another customer: of all living contacts of the persons that the keys lead to. Returns the contacts whose consent changed.
 */
export async function refreshConsents(tx: Db, keys: readonly PersonKey[]): Promise<ContactKey[]> {
  const ledgerOf = await readLedgers(tx, keys)
  const contacts = [...new Set(keys.map(({ companyId }) => companyId))].flatMap((companyId) =>
    [...ledgerOf(companyId).contacts.values()]
      .filter(({ isLiving }) => isLiving)
      .map(({ id }) => ({ companyId, contactId: id })),
  )
  return refreshContacts(tx, contacts)
}

/**
 * The same for these contacts alone.
 * @throws DatabaseError 55P03 when it does not wait and another transaction has one of them
 */
export async function refreshContacts(
  tx: Db,
  contacts: readonly ContactKey[],
  { waits = true } = {},
): Promise<ContactKey[]> {
  if (contacts.length === 0) return []
  // Two transactions that add to the ledger each wait here for the other's entry, or see it.
  const locked = await lockContacts(tx, contacts, waits)
  return showCurrent(
    tx,
    locked.map(({ companyId, contactId, phoneIdentity }) => ({ companyId, contactId, identity: phoneIdentity })),
  )
}

/** Shows on contacts that this transaction created what their customers said before. */
export async function showEarlierConsents(
  tx: Db,
  contacts: readonly { companyId: number; id: number }[],
): Promise<void> {
  const keys = contacts.map(({ companyId, id }) => ({ companyId, contactId: id }))
  // Few have said something: one look at the ledger for each saves reading what the consent of all depends on.
  const named = await findNamedInLedger(tx, keys)
  if (named.length > 0) await showCurrent(tx, named)
}

/** Shows what counts now on contacts that this transaction created or locked; returns those whose consent changed. */
export async function showCurrent(tx: Db, keys: readonly (ContactKey & PersonKey)[]): Promise<ContactKey[]> {
  const ledgerOf = await readLedgers(tx, keys)
  const changed = keys.flatMap(({ companyId, contactId }): ShownConsents[] => {
    const contact = ledgerOf(companyId).contacts.get(contactId)
    const shown = contact && shownConsents(ledgerOf(companyId), contact)
    const isCurrent =
      contact?.emailConsent === shown?.emailConsent && contact?.whatsappConsent === shown?.whatsappConsent
    return shown === undefined || isCurrent ? [] : [{ companyId, contactId, ...shown }]
  })
  if (changed.length > 0) await writeShownConsents(tx, changed)
  return changed.map(({ companyId, contactId }) => ({ companyId, contactId }))
}

/** The consent that a contact shows on each channel. */
export const shownConsents = (ledger: ConsentLedger, contact: LedgerContact) => ({
  emailConsent: contactConsent(ledger, contact, 'email')?.value ?? null,
  whatsappConsent: contactConsent(ledger, contact, 'whatsapp')?.value ?? null,
})
