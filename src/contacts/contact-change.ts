import type { Db } from '../db/connect.ts'
import { emailKey } from '../text/email-address.ts'
import { phoneIdentity } from '../text/phone.ts'
import type { ChangedBy, Channel, Contact, ContactWrite, CustomFields } from './contact-record.ts'
import {
  type ConsentSet,
  type ContactRow,
  type ContactState,
  forgetAliases,
  insertConsents,
  insertContacts,
  releaseEmails,
  toContactRow,
  updateContacts,
} from './contact-store.ts'

export const CUSTOM_FIELDS_MAX_KEYS = 200
export const CUSTOM_FIELDS_MAX_BYTES = 64 * 1024

const BLANK = {
  email: null,
  phone: null,
  phoneIdentity: null,
  firstName: null,
  lastName: null,
  status: 'active',
  source: 'API',
  sourceType: 'database',
  customFields: {},
  tags: [],
  emailConsent: null,
  whatsappConsent: null,
} satisfies Omit<ContactState, 'id'>

/** The contact as the write leaves it: a known one with only that changed which the write carries, or a new one. */
export function applyWrite(id: number, known: ContactState | undefined, write: ContactWrite): ContactState {
  const before = known ?? BLANK
  const phone = carried(write.phone, before.phone)
  return {
    id,
    email: carried(write.email, before.email),
    phone,
    phoneIdentity: phone === before.phone ? before.phoneIdentity : phone === null ? null : phoneIdentity(phone),
    firstName: carried(write.firstName, before.firstName),
    lastName: carried(write.lastName, before.lastName),
    status: write.status ?? before.status,
    source: write.source ?? before.source,
    sourceType: write.sourceType ?? before.sourceType,
    customFields: mergeCustomFields(before.customFields, write.customFields),
    tags: write.tags ?? before.tags,
    emailConsent: write.emailConsent ?? before.emailConsent,
    whatsappConsent: write.whatsappConsent ?? before.whatsappConsent,
  }
}

const carried = <T>(given: T | undefined, kept: T): T => (given === undefined ? kept : given)

/** By key; null removes. Through a Map, so that no key means anything to JavaScript. */
function mergeCustomFields(kept: CustomFields, given: CustomFields | undefined): CustomFields {
  if (given === undefined) return kept
  const merged = new Map([...Object.entries(kept), ...Object.entries(given)])
  return Object.fromEntries([...merged].filter(([, value]) => value !== null))
}

/** The fault of all custom fields of a contact together; undefined if there is none. */
export function customFieldsFault(fields: CustomFields): string | undefined {
  if (Object.keys(fields).length > CUSTOM_FIELDS_MAX_KEYS) {
    return `must not have more than ${CUSTOM_FIELDS_MAX_KEYS} keys in all`
  }
  const bytes = Buffer.byteLength(JSON.stringify(fields))
  if (bytes > CUSTOM_FIELDS_MAX_BYTES) return `must not be larger than ${CUSTOM_FIELDS_MAX_BYTES} bytes in all`
  return undefined
}

/** A contact before, unless it is new, and after, with the changes of consent in between. */
export type Change = {
  readonly known: Contact | undefined
  readonly state: ContactState
  readonly consents: readonly ConsentSet[]
  /** Phone identities that the contact had and gave up; it is no longer known by them. */
  readonly releasedPhones: readonly string[]
}

/** Changes as statements take them. */
export const rowsOf = (changes: readonly Change[]): ContactRow[] => changes.map(({ state }) => toContactRow(state))

export type WriteOptions = {
  /** The rows of the new contacts, if they are at hand. */
  addedRows?: readonly ContactRow[] | undefined
  /** Commits the transaction: sent right behind the statements. */
  commit?: (() => Promise<unknown>) | undefined
}

/** Writes changes of different contacts; returns them as stored. The caller holds the locks. */
export async function writeChanges(
  tx: Db,
  companyId: number,
  changes: readonly Change[],
  by: ChangedBy,
  { addedRows, commit }: WriteOptions = {},
): Promise<Contact[]> {
  const [added, updated] = [changes.filter(({ known }) => !known), changes.filter(({ known }) => known)]
  const consents = changes.flatMap((change) => change.consents)
  const released = updated.flatMap(({ state, releasedPhones }) =>
    releasedPhones.map((identity) => ({ id: state.id, identity })),
  )
  const changed = changedEmails(updated)
  // All statements are sent at once; the server runs them in this order.
  const [, updates, additions] = await Promise.all([
    changed.length > 0 && releaseEmails(tx, companyId, changed),
    updated.length > 0 && updateContacts(tx, companyId, rowsOf(updated), consents),
    added.length > 0 && insertContacts(tx, companyId, addedRows ?? rowsOf(added)),
    consents.length > 0 && insertConsents(tx, companyId, consents, by),
    released.length > 0 && forgetAliases(tx, companyId, released),
    commit !== undefined && inOrder(commit),
  ])
  const optedOut = [updates, additions].flatMap((written) => (written ? written.optedOut : []))
  const consentsOf = new Map(optedOut.map(({ id, ...kept }) => [id, kept]))
  return changes.flatMap(({ known, state }) => {
    const written = known ? updates : additions
    if (!written) return []
    const { externalId, externalConnectionId, createdAt = written.at } = known ?? NEW_CONTACT
    return [
      { ...state, ...consentsOf.get(state.id), externalId, externalConnectionId, createdAt, updatedAt: written.at },
    ]
  })
}

/** Awaits as a store does, so that the commit is sent after the statements of the stores that were called before. */
async function inOrder(commit: () => Promise<unknown>): Promise<void> {
  await commit()
}

const idsOf = (changes: readonly Change[]): number[] => changes.map(({ state }) => state.id)

/**
 * Contacts whose email another updated contact takes. The unique index sees one row after the other, so their emails are
 * released first. New contacts are inserted after all updates.
 */
function changedEmails(updated: readonly Change[]): number[] {
  const takers = new Map(updated.map(({ state }) => [keyOf(state), state.id]))
  return idsOf(
    updated.filter(({ known, state }) => {
      const key = known === undefined ? null : keyOf(known)
      return key !== null && (takers.get(key) ?? state.id) !== state.id
    }),
  )
}

const keyOf = ({ email }: Pick<ContactState, 'email'>): string | null => (email === null ? null : emailKey(email))

const NEW_CONTACT = { createdAt: undefined, externalId: null, externalConnectionId: null }

/**
 * Only what changes something is a change of consent: a channel's consent, or, where the write gives it again, the
 * address or number that it is for.
 */
export function consentChanges(
  before: ContactState | undefined,
  after: ContactState,
  write: ContactWrite,
): ConsentSet[] {
  const change = (channel: Channel, from: boolean | null | undefined, to: boolean | null, isAnew: boolean) =>
    to === null || (to === (from ?? null) && !isAnew) ? [] : [{ contact_id: after.id, channel, value: to }]
  const hasNewEmail = before !== undefined && keyOf(before) !== keyOf(after)
  const hasNewPhone = before !== undefined && before.phoneIdentity !== after.phoneIdentity
  return [
    ...change('email', before?.emailConsent, after.emailConsent, hasNewEmail && write.emailConsent !== undefined),
    ...change(
      'whatsapp',
      before?.whatsappConsent,
      after.whatsappConsent,
      hasNewPhone && write.whatsappConsent !== undefined,
    ),
  ]
}
