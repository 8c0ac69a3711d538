import type { Db } from '../db/connect.ts'
import { phoneIdentity } from '../phone.ts'
import type { ChangedBy, Contact, ContactWrite, CustomFields } from './contact-record.ts'
import { type ConsentSet, type ContactState, writeContacts } from './contact-store.ts'

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
export function applyWrite(id: number, known: Contact | undefined, write: ContactWrite): ContactState {
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

/** A contact before, unless it is new, and after. */
export type Change = { readonly known: Contact | undefined; readonly state: ContactState }

/** Writes changes to contacts that have nothing to do with each other; answers them as kept, in the order given. */
export async function writeChanges(
  tx: Db,
  companyId: number,
  changes: readonly Change[],
  by: ChangedBy,
): Promise<Contact[]> {
  const written = await writeContacts(
    tx,
    companyId,
    {
      states: changes.map((change) => change.state),
      created: changes.filter((change) => change.known === undefined).length,
      consents: changes.flatMap(consentChanges),
      phones: changes.flatMap(phonesMoved),
    },
    by,
  )
  const byId = new Map(written.map((contact) => [contact.id, contact]))
  return changes.map((change) => byId.get(change.state.id)).filter((contact) => contact !== undefined)
}

/** Only what changes something is a change of consent. */
function consentChanges({ known, state }: Change): ConsentSet[] {
  const changes: ConsentSet[] = []
  if (state.emailConsent !== null && state.emailConsent !== (known?.emailConsent ?? null)) {
    changes.push({ contact_id: state.id, channel: 'email', value: state.emailConsent })
  }
  if (state.whatsappConsent !== null && state.whatsappConsent !== (known?.whatsappConsent ?? null)) {
    changes.push({ contact_id: state.id, channel: 'whatsapp', value: state.whatsappConsent })
  }
  return changes
}

/** The phone identities whose oldest contact may be another one after the change. */
function phonesMoved({ known, state }: Change): string[] {
  const before = known?.phoneIdentity ?? null
  if (before === state.phoneIdentity) return []
  return [before, state.phoneIdentity].filter((identity) => identity !== null)
}
