import { emailKey } from '../../platform/text/email-address.ts'
import type { Channel, ConsentEvidence, ContactWrite } from '../contact-record.ts'
import type { ContactState } from '../contact-store.ts'
import { addressIdentity, type ConsentEntry, type ConsentPerson, consentThatCounts, ERASURE } from './consent.ts'
import type { NewConsent } from './consent-store.ts'

export type LedgerCustomer = {
  readonly id: number
  readonly contactId: number
  readonly identities: readonly LedgerIdentity[]
}
type LedgerIdentity = { readonly identity: string; readonly retiredAt: Date | null }

export type LedgerContact = {
  readonly id: number
  readonly emailKey: string | null
  readonly phoneIdentity: string | null
  readonly isLiving: boolean
  readonly emailConsent: boolean | null
  readonly whatsappConsent: boolean | null
}

export type ConsentFacts = {
  readonly customers: readonly LedgerCustomer[]
  readonly contacts: readonly LedgerContact[]
  readonly entries: readonly ConsentEntry[]
}

export type ConsentLedger = {
  readonly contacts: Map<number, LedgerContact>
  readonly contactsByEmail: Map<string, Set<LedgerContact>>
  readonly contactsByPhone: Map<string, Set<LedgerContact>>
  readonly customersByContact: Map<number, Set<LedgerCustomer>>
  readonly customersByIdentity: Map<string, Set<LedgerCustomer>>
  readonly entriesByIdentity: Map<string, Set<ConsentEntry>>
  readonly entriesByContact: Map<number, Set<ConsentEntry>>
  newEntries: number
}

export const NO_FACTS: ConsentFacts = { customers: [], contacts: [], entries: [] }

export function createConsentLedger({ customers, contacts, entries }: ConsentFacts): ConsentLedger {
  const ledger: ConsentLedger = {
    contacts: new Map(),
    contactsByEmail: new Map(),
    contactsByPhone: new Map(),
    customersByContact: new Map(),
    customersByIdentity: new Map(),
    entriesByIdentity: new Map(),
    entriesByContact: new Map(),
    newEntries: 0,
  }
  for (const customer of customers) {
    add(ledger.customersByContact, customer.contactId, customer)
    for (const one of customer.identities) if (isCurrent(one)) add(ledger.customersByIdentity, one.identity, customer)
  }
  for (const contact of contacts) putContact(ledger, contact)
  for (const entry of entries) addEntry(ledger, entry)
  return ledger
}

function putContact(ledger: ConsentLedger, contact: LedgerContact): void {
  const before = ledger.contacts.get(contact.id)
  if (before?.phoneIdentity != null) ledger.contactsByPhone.get(before.phoneIdentity)?.delete(before)
  if (before?.emailKey != null) ledger.contactsByEmail.get(before.emailKey)?.delete(before)
  ledger.contacts.set(contact.id, contact)
  if (!contact.isLiving) return
  if (contact.phoneIdentity !== null) add(ledger.contactsByPhone, contact.phoneIdentity, contact)
  if (contact.emailKey !== null) add(ledger.contactsByEmail, contact.emailKey, contact)
}

/** Sorts after all stored entries, as do new ids. */
const NOW = new Date(8.64e15)
const FIRST_NEW_ID = 2 ** 52

const isNew = ({ id }: ConsentEntry): boolean => id >= FIRST_NEW_ID

/** Adds an entry (null: said now) in place of earlier in-memory ones with the same keys; returns the new id. */
function addEntryNow(
  ledger: ConsentLedger,
  { saidAt, ...entry }: Omit<ConsentEntry, 'id' | 'saidAt'> & { saidAt: Date | null },
): number {
  const { identity, contactId, channel } = entry
  const at = saidAt ?? NOW
  for (const entries of [
    identity === null ? undefined : ledger.entriesByIdentity.get(identity),
    contactId === null ? undefined : ledger.entriesByContact.get(contactId),
  ]) {
    for (const older of entries ?? []) {
      if (isNew(older) && older.channel === channel && older.saidAt <= at) entries?.delete(older)
    }
  }
  const id = FIRST_NEW_ID + ledger.newEntries
  addEntry(ledger, { ...entry, id, saidAt: at })
  ledger.newEntries += 1
  return id
}

function addEntry(ledger: ConsentLedger, entry: ConsentEntry): void {
  if (entry.identity !== null) add(ledger.entriesByIdentity, entry.identity, entry)
  if (entry.contactId !== null) add(ledger.entriesByContact, entry.contactId, entry)
}

/** Returns the current WhatsApp entry of a person, or undefined if there is none. */
export const whatsappConsent = (ledger: ConsentLedger, identities: readonly string[]): ConsentEntry | undefined =>
  count(ledger, 'whatsapp', personOf(ledger, { identities }))

export function emailConsent(ledger: ConsentLedger, emailKey: string): ConsentEntry | undefined {
  const [contact] = ledger.contactsByEmail.get(emailKey) ?? []
  const contactIds = new Set(contact === undefined ? [] : [contact.id])
  return count(ledger, 'email', { identities: new Map([[addressIdentity(emailKey), null]]), contactIds })
}

export function contactConsent(
  ledger: ConsentLedger,
  contact: LedgerContact,
  channel: Channel,
): ConsentEntry | undefined {
  // Most batches have no entries; resolving the person takes a third of an import's time per row.
  if (ledger.entriesByIdentity.size === 0 && ledger.entriesByContact.size === 0) return undefined
  return count(ledger, channel, channel === 'email' ? readerOf(ledger, contact) : personOf(ledger, seedOf(contact)))
}

/** Returns the identity for a contact's new entries on a channel, or null if there is none. */
function consentIdentity(ledger: ConsentLedger, contact: LedgerContact, channel: Channel): string | null {
  const address = contact.emailKey === null ? [] : [addressIdentity(contact.emailKey)]
  const names = namesOf(ledger, contact)
  const [identity = null] = channel === 'email' ? [...address, ...names] : [...names, ...address]
  return identity
}

/** Returns the living contacts whose WhatsApp consent may depend on a contact or an identity. */
export const relatedContacts = (ledger: ConsentLedger, related: LedgerContact | string): LedgerContact[] => {
  const seed = typeof related === 'string' ? { identities: [related] } : seedOf(related)
  return livingOf(ledger, personOf(ledger, seed).contactIds)
}

type Seed = { readonly identities: readonly string[]; readonly contactId?: number }

const seedOf = ({ id, phoneIdentity }: LedgerContact): Seed => ({
  identities: phoneIdentity === null ? [] : [phoneIdentity],
  contactId: id,
})

/** Includes contacts attached or sharing a current number, and the numbers of these contacts. */
function personOf(ledger: ConsentLedger, { identities: seeds, contactId }: Seed): ConsentPerson {
  const customers = new Set([
    ...(contactId === undefined ? [] : (ledger.customersByContact.get(contactId) ?? [])),
    ...seeds.flatMap((identity) => [...(ledger.customersByIdentity.get(identity) ?? [])]),
  ])
  const identities = new Map<string, Date | null>()
  for (const one of [...customers].flatMap((customer) => customer.identities)) {
    identities.set(one.identity, isCurrent(one) ? null : one.retiredAt)
  }
  for (const identity of seeds) identities.set(identity, null)

  const current = [...identities].flatMap(([identity, retiredAt]) => (retiredAt === null ? [identity] : []))
  const holders = current.flatMap((identity) => [...(ledger.contactsByPhone.get(identity) ?? [])])
  const contactIds = new Set([
    ...(contactId === undefined ? [] : [contactId]),
    ...[...customers].map((customer) => customer.contactId),
    ...holders.map(({ id }) => id),
  ])
  for (const { phoneIdentity } of livingOf(ledger, contactIds)) {
    if (phoneIdentity !== null) identities.set(phoneIdentity, null)
  }
  return { identities, contactIds }
}

/** An email recipient is identified by address, else by number, else by user ids. */
function readerOf(ledger: ConsentLedger, contact: LedgerContact): ConsentPerson {
  const identities = contact.emailKey === null ? namesOf(ledger, contact) : [addressIdentity(contact.emailKey)]
  return { identities: new Map(identities.map((one) => [one, null])), contactIds: new Set([contact.id]) }
}

function namesOf(ledger: ConsentLedger, { id, phoneIdentity }: LedgerContact): string[] {
  if (phoneIdentity !== null) return [phoneIdentity]
  const customers = [...(ledger.customersByContact.get(id) ?? [])]
  return customers.flatMap(({ identities }) =>
    identities.filter(({ retiredAt }) => retiredAt === null).map(({ identity }) => identity),
  )
}

function count(ledger: ConsentLedger, channel: Channel, person: ConsentPerson): ConsentEntry | undefined {
  const { identities, contactIds } = person
  return consentThatCounts(channel, person, [
    ...[...identities.keys()].flatMap((identity) => [...(ledger.entriesByIdentity.get(identity) ?? [])]),
    ...[...contactIds].flatMap((id) => [...(ledger.entriesByContact.get(id) ?? [])]),
  ])
}

const livingOf = ({ contacts }: ConsentLedger, ids: Iterable<number>): LedgerContact[] =>
  [...ids].flatMap((id) => {
    const contact = contacts.get(id)
    return contact?.isLiving ? [contact] : []
  })

/** A retired number leads to no customer; a retired user id still leads to its own customer. */
const isCurrent = ({ identity, retiredAt }: LedgerIdentity): boolean => retiredAt === null || !/^[0-9]/.test(identity)

function add<K, T>(groups: Map<K, Set<T>>, key: K, item: T): void {
  const group = groups.get(key)
  if (group === undefined) groups.set(key, new Set([item]))
  else group.add(item)
}

export type ConsentStatement = {
  readonly contactId: number
  readonly channel: Channel
  readonly identity: string | null
  readonly value: boolean
  /** The identical stored entry to replace. */
  readonly repeats: number | null
  readonly entryId: number
  readonly replaces: number | null
  readonly evidence: ConsentEvidence
}

const NO_EVIDENCE: ConsentEvidence = { saidAt: null, ip: null }

/** Returns a write's statements, and adds them and the contact's new state to the ledger for later writes. */
export function stateConsents(
  ledger: ConsentLedger,
  state: ContactState,
  write: ContactWrite,
  source: string,
): ConsentStatement[] {
  const contact = toLedgerContact(state)
  putContact(ledger, contact)
  return CHANNELS.flatMap(({ channel, member }) => {
    const value = write[member]
    if (value === undefined) return []
    const evidence = write.evidence?.[channel] ?? NO_EVIDENCE
    const { saidAt } = evidence
    const identity = consentIdentity(ledger, contact, channel)
    const before = contactConsent(ledger, contact, channel)
    const isRepeated =
      before?.value === value &&
      before.identity === identity &&
      before.contactId === contact.id &&
      before.source === source
    if (isRepeated && saidAt !== null && before.saidAt >= saidAt) return []
    const replaces = isRepeated && isNew(before) ? before.id : null
    const stored = isRepeated && replaces === null ? before.id : (before?.repeats ?? null)
    const repeats = isRepeated ? stored : null
    const entryId = addEntryNow(ledger, { channel, identity, contactId: contact.id, value, saidAt, source, repeats })
    return [{ contactId: contact.id, channel, identity, value, repeats, entryId, replaces, evidence }]
  })
}

export function withoutReplaced(statements: readonly ConsentStatement[]): ConsentStatement[] {
  const replaced = new Set(statements.map(({ replaces }) => replaces))
  return statements.filter(({ entryId }) => !replaced.has(entryId))
}

export const CHANNELS = [
  { channel: 'email', member: 'emailConsent' },
  { channel: 'whatsapp', member: 'whatsappConsent' },
] as const satisfies readonly { channel: Channel; member: keyof ContactWrite }[]

export const toLedgerContact = (state: ContactState): LedgerContact => ({
  id: state.id,
  emailKey: state.email === null ? null : emailKey(state.email),
  phoneIdentity: state.phoneIdentity,
  isLiving: true,
  emailConsent: state.emailConsent,
  whatsappConsent: state.whatsappConsent,
})

/** Returns a deleted contact's opt-outs from an earlier number, or none, to keep under the current identity. */
export function lastOptOuts(ledger: ConsentLedger, contact: LedgerContact): Omit<NewConsent, 'companyId'>[] {
  return CHANNELS.flatMap(({ channel }) => {
    const identity = consentIdentity(ledger, contact, channel)
    const entry = contactConsent(ledger, contact, channel)
    if (identity === null || entry === undefined || entry.value || entry.identity === identity) return []
    const { value, saidAt, source } = entry
    return [{ channel, identity, contactId: contact.id, value, saidAt, source, clientId: null, eventId: null }]
  })
}

export function keptOptOuts(
  ledger: ConsentLedger,
  contact: LedgerContact,
  identities: readonly string[],
): { channel: Channel; identity: string; saidAt: Date }[] {
  return CHANNELS.flatMap(({ channel }) => {
    const entry = contactConsent(ledger, contact, channel)
    if (entry === undefined || entry.value) return []
    const own = consentIdentity(ledger, contact, channel)
    const targets = channel === 'email' || identities.length === 0 ? [own] : identities
    return (
      targets
        .filter((identity) => identity !== null)
        // Already kept by an earlier erasure.
        .filter((identity) => entry.source !== ERASURE || entry.identity !== identity)
        .map((identity) => ({ channel, identity, saidAt: entry.saidAt }))
    )
  })
}
