import type { Db, Pool } from '../db/connect.ts'
import { emailKey } from '../email-address.ts'
import { validationError } from '../errors.ts'
import { phoneIdentity } from '../phone.ts'
import { applyWrite, type Change, customFieldsFault, writeChanges } from './contact-change.ts'
import type { ChangedBy, Contact, ContactWrite } from './contact-record.ts'
import { type Known, readMeant, takeContactIds } from './contact-store.ts'
import { checkLocked, identitiesOf, withPeopleLocked } from './people-lock.ts'

/** Most contacts in one call. */
export const UPSERT_MAX_CONTACTS = 1000

export type UpsertOptions = {
  /**
   * What happens to custom fields that would grow over their limits together with those already kept: `refuse` the
   * whole call (422), or `keep` what was there. A caller who may not learn whether somebody exists needs the latter.
   */
  whenFull?: 'refuse' | 'keep'
  /** Whether faults are named by the index of their write, as they are when the caller gave an array. */
  isArray?: boolean
}

/**
 * Creates or updates contacts, in the order given, all or nothing (spec: Contacts, Matching rules): each is the living
 * contact with its email, else the oldest living one with its phone, else a new one. Answers the contacts in the same
 * order, each as it was after its own write. Every write names an email or a phone.
 * 422 `validation_error` when custom fields outgrow their limits.
 */
export async function upsertContacts(
  db: Pool,
  companyId: number,
  writes: readonly ContactWrite[],
  by: ChangedBy,
  options: UpsertOptions = {},
): Promise<Contact[]> {
  const items = writes.map((write, index) => toItem(write, options.isArray ? `${index}.` : ''))
  const identities = [...new Set(items.flatMap(identitiesOf))]
  return withPeopleLocked(db, companyId, { identities, ids: [] }, async (tx, locked) => {
    const contacts: Contact[] = []
    while (contacts.length < items.length) {
      const wave = await writeWave(tx, companyId, items.slice(contacts.length), locked, by, options)
      contacts.push(...wave)
    }
    return contacts
  })
}

type Item = { write: ContactWrite; path: string; emailKey: string | null; phoneIdentity: string | null }

const toItem = (write: ContactWrite, path: string): Item => ({
  write,
  path,
  emailKey: write.email ? emailKey(write.email) : null,
  phoneIdentity: write.phone ? phoneIdentity(write.phone) : null,
})

/** Writes the leading items that have nothing to do with each other; the next wave sees what they left. */
async function writeWave(
  tx: Db,
  companyId: number,
  items: readonly Item[],
  locked: ReadonlySet<string>,
  by: ChangedBy,
  options: UpsertOptions,
): Promise<Contact[]> {
  const strangers = leadingStrangers(items)
  const known = await readMeant(tx, companyId, {
    emailKeys: strangers.map((item) => item.emailKey).filter((key) => key !== null),
    phones: strangers.map((item) => item.phoneIdentity).filter((identity) => identity !== null),
    ids: [],
  })
  checkLocked(locked, known)
  const meetings = leadingApart(meet(strangers, known))
  const newIds = await takeContactIds(tx, meetings.filter((meeting) => meeting.known === undefined).length)
  const changes = meetings.map((meeting) => toChange(meeting, meeting.known?.id ?? newIds.shift() ?? 0, options))
  return writeChanges(tx, companyId, changes, by)
}

/** Items up to the first whose email or phone an earlier one names too. */
function leadingStrangers(items: readonly Item[]): Item[] {
  const named = new Set<string>()
  const end = items.findIndex((item) => !addAll(named, identitiesOf(item)))
  return items.slice(0, end === -1 ? items.length : end)
}

type Meeting = { item: Item; known: Known | undefined }

function meet(items: readonly Item[], known: readonly Known[]): Meeting[] {
  const byEmail = new Map(known.map((contact) => [contact.emailKey, contact]))
  const byPhone = new Map(known.flatMap((contact) => contact.phones.map((phone) => [phone, contact])))
  return items.map((item) => ({
    item,
    known:
      (item.emailKey === null ? undefined : byEmail.get(item.emailKey)) ??
      (item.phoneIdentity === null ? undefined : byPhone.get(item.phoneIdentity)),
  }))
}

/** Meetings up to the first that touches what an earlier one touches: the same contact, or an email or phone of it. */
function leadingApart(meetings: readonly Meeting[]): Meeting[] {
  const touched = new Set<string>()
  const end = meetings.findIndex(
    ({ item, known }) =>
      !addAll(touched, [...identitiesOf(item), ...(known ? [`id:${known.id}`, ...identitiesOf(known)] : [])]),
  )
  return meetings.slice(0, end === -1 ? meetings.length : end)
}

/** Adds them when none of them is in the set yet, and says so. */
function addAll(set: Set<string>, members: readonly string[]): boolean {
  if (members.some((member) => set.has(member))) return false
  for (const member of members) set.add(member)
  return true
}

function toChange({ item, known }: Meeting, id: number, { whenFull = 'refuse' }: UpsertOptions): Change {
  const state = applyWrite(id, known, item.write)
  const fault = item.write.customFields && customFieldsFault(state.customFields)
  if (fault === undefined) return { known, state }
  if (whenFull === 'refuse') throw validationError([{ path: `${item.path}customFields`, message: fault }])
  return { known, state: { ...state, customFields: known?.customFields ?? {} } }
}
