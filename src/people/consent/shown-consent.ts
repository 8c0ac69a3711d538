import { type Db, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import type { Channel } from '../contact-record.ts'
import { addressIdentity } from './consent.ts'
import { type PersonKey, readConsentFacts } from './consent-fact-store.ts'
import {
  type ConsentLedger,
  contactConsent,
  createConsentLedger,
  emailConsent,
  type LedgerContact,
  whatsappConsent,
} from './consent-ledger.ts'
import { findNamedInLedger } from './consent-store.ts'

/** Returns the current consent per key (phone identity, user id or lower-case address), or null if unknown. */
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

export async function hasRefusedEmail(db: Db, companyId: number, email: string): Promise<boolean> {
  const [value] = await latestConsents(db, 'email', [{ companyId, identity: emailKey(email) }])
  return value === false
}

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
 * Updates all living contacts of these persons; must run after ledger entries were added, or identities or contacts
 * moved to another customer. Returns the changed contacts.
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

/** Updates the consent shown by these contacts. Throws 55P03 without `waits` if another transaction locks one. */
export async function refreshContacts(
  tx: Db,
  contacts: readonly ContactKey[],
  { waits = true } = {},
): Promise<ContactKey[]> {
  if (contacts.length === 0) return []
  // Serializes concurrent ledger writes: each transaction waits here, then sees the other's entry.
  const locked = await lockContacts(tx, contacts, waits)
  return showCurrent(
    tx,
    locked.map(({ companyId, contactId, phoneIdentity }) => ({ companyId, contactId, identity: phoneIdentity })),
  )
}

/** Copies earlier customer consent to contacts created by this transaction. */
export async function showEarlierConsents(
  tx: Db,
  contacts: readonly { companyId: number; id: number }[],
): Promise<void> {
  const keys = contacts.map(({ companyId, id }) => ({ companyId, contactId: id }))
  // Few customers have entries, so one ledger probe per contact is cheaper than reading all facts.
  const named = await findNamedInLedger(tx, keys)
  if (named.length > 0) await showCurrent(tx, named)
}

/** Updates the consent shown by contacts created or locked by this transaction; returns the changed ones. */
async function showCurrent(tx: Db, keys: readonly (ContactKey & PersonKey)[]): Promise<ContactKey[]> {
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

export const shownConsents = (ledger: ConsentLedger, contact: LedgerContact) => ({
  emailConsent: contactConsent(ledger, contact, 'email')?.value ?? null,
  whatsappConsent: contactConsent(ledger, contact, 'whatsapp')?.value ?? null,
})

/** Must run before the ledger is read. Throws 55P03 without `waits` if another transaction holds a lock. */
const lockContacts = (tx: Db, contacts: readonly ContactKey[], waits: boolean) =>
  tx<(ContactKey & { phoneIdentity: string | null })[]>`
    select contacts.company_id, contacts.id as contact_id, contacts.phone_identity
    from contacts
    join ${inputRows(contacts, { bigint: ['companyId', 'contactId'] })}
      on (contacts.company_id, contacts.id) = (input.company_id, input.contact_id)
    where contacts.deleted_at is null
    order by contacts.company_id, contacts.id
    for no key update of contacts ${waits ? sql`` : sql`nowait`}
  `

type ShownConsents = {
  readonly companyId: number
  readonly contactId: number
  readonly emailConsent: boolean | null
  readonly whatsappConsent: boolean | null
}

async function writeShownConsents(tx: Db, shown: readonly ShownConsents[]): Promise<void> {
  const input = inputRows(shown, {
    bigint: ['companyId', 'contactId'],
    boolean: ['emailConsent', 'whatsappConsent'],
  })
  await tx`
    update contacts
    set
      email_consent = input.email_consent,
      whatsapp_consent = input.whatsapp_consent,
      updated_at = statement_timestamp()
    from ${input}
    where (contacts.company_id, contacts.id) = (input.company_id, input.contact_id)
  `
}
