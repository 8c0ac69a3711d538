import type { Db } from '../db/connect.ts'
import { phoneIdentity } from '../phone.ts'
import type { ChangedBy, Channel, Contact, ContactWrite, CustomFields } from './contact-record.ts'
import { searchText } from './contact-search.ts'
import {
  type ConsentSet,
  type ContactRows,
  type ContactState,
  forgetAliases,
  insertConsents,
  insertContacts,
  toRows,
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

/** What is wrong with custom fields as a whole, if anything. */
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
}

/** Changes as statements take them. */
export const rowsOf = (changes: readonly Change[]): ContactRows => toRows(changes.map(({ state }) => state))

/**
 * Writes changes of different contacts; answers them as kept. No address goes from one of them to another. `addedRows`:
 * those of the new ones, where they are at hand.
 */
export async function writeChanges(
  tx: Db,
  companyId: number,
  changes: readonly Change[],
  by: ChangedBy,
  addedRows?: ContactRows,
): Promise<Contact[]> {
  const [added, updated] = [changes.filter(({ known }) => !known), changes.filter(({ known }) => known)]
  const consents = changes.flatMap((change) => change.consents)
  const givenUp = updated.flatMap(numberGivenUp)
  const idsOf = (some: readonly Change[]) => some.map(({ state }) => state.id)
  // All are begun at once, so that none waits for the answer to another; they are carried out in this order.
  const [updatedAt, createdAt] = await Promise.all([
    updated.length > 0 &&
      updateContacts(tx, companyId, idsOf(updated), rowsOf(updated), idsOf(updated.filter(isRenamed))),
    added.length > 0 && insertContacts(tx, companyId, idsOf(added), addedRows ?? rowsOf(added)),
    consents.length > 0 && insertConsents(tx, companyId, consents, by),
    givenUp.length > 0 && forgetAliases(tx, companyId, givenUp),
  ])
  return changes.flatMap(({ known, state }) => {
    const at = known ? updatedAt : createdAt
    if (!at) return []
    const { createdAt: since, externalId, externalConnectionId } = known ?? NEWCOMER
    return [{ ...state, externalId, externalConnectionId, createdAt: since ?? at, updatedAt: at }]
  })
}

const NEWCOMER = { createdAt: undefined, externalId: null, externalConnectionId: null }

const isRenamed = ({ known, state }: Change): boolean => known === undefined || searchText(known) !== searchText(state)

function numberGivenUp({ known, state }: Change) {
  const identity = known?.phoneIdentity ?? null
  return identity === null || identity === state.phoneIdentity ? [] : [{ id: state.id, identity }]
}

/** Only what changes something is a change of consent. */
export function consentChanges(before: ContactState | undefined, after: ContactState): ConsentSet[] {
  const change = (channel: Channel, from: boolean | null | undefined, to: boolean | null): ConsentSet[] =>
    to === null || to === (from ?? null) ? [] : [{ contact_id: after.id, channel, value: to }]
  return [
    ...change('email', before?.emailConsent, after.emailConsent),
    ...change('whatsapp', before?.whatsappConsent, after.whatsappConsent),
  ]
}
