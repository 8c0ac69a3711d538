import type { Db, Pool } from '../db/connect.ts'
import { emailKey } from '../email-address.ts'
import { validationError } from '../errors.ts'
import { phoneIdentity } from '../phone.ts'
import { writeChanges } from './contact-change.ts'
import type { ChangedBy, Contact, ContactWrite } from './contact-record.ts'
import { readMeant, takeContactIds } from './contact-store.ts'
import { changesOf, type Item, type Step, takeSteps, type WhenFull } from './contact-wave.ts'
import { checkLocked, identitiesOf, withPeopleLocked } from './people-lock.ts'

/** Most contacts in one call. */
export const UPSERT_MAX_CONTACTS = 1000

export type UpsertOptions = {
  /**
   * What happens to custom fields that would grow over their limits together with those already kept: `refuse` the
   * whole call (422), or `keep` what was there. A caller who may not learn whether somebody exists needs the latter.
   */
  whenFull?: WhenFull
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
  { whenFull = 'refuse', isArray = false }: UpsertOptions = {},
): Promise<Contact[]> {
  const items = writes.map((write) => toItem(write))
  return withPeopleLocked(db, companyId, askedBy(items), async (tx, locked) => {
    const contacts: Contact[] = []
    while (contacts.length < items.length) {
      const steps = await stepsOf(tx, companyId, items.slice(contacts.length), locked, whenFull)
      refuseFull(steps, contacts.length, isArray)
      contacts.push(...(await writeSteps(tx, companyId, steps, by)))
    }
    return contacts
  })
}

function refuseFull(steps: readonly Step[], first: number, isArray: boolean): void {
  for (const [index, { fault }] of steps.entries()) {
    if (fault === undefined) continue
    throw validationError([{ path: isArray ? `${first + index}.customFields` : 'customFields', message: fault }])
  }
}

export type RowOutcome = { readonly kind: Step['kind']; readonly fault?: string | undefined }

/**
 * The same for rows of a list, which are refused alone: answers what became of each to `keep`, in the transaction that
 * writes them. Contacts that stay as they are are not written.
 */
export async function upsertRows(
  db: Pool,
  companyId: number,
  rows: readonly { write: ContactWrite; id?: number | undefined }[],
  by: ChangedBy,
  keep: (tx: Db, outcomes: readonly RowOutcome[]) => Promise<void>,
): Promise<void> {
  const items = rows.map(({ write, id }) => toItem(write, id))
  await withPeopleLocked(db, companyId, askedBy(items), async (tx, locked) => {
    const outcomes: RowOutcome[] = []
    while (outcomes.length < items.length) {
      const steps = await stepsOf(tx, companyId, items.slice(outcomes.length), locked, 'refuse')
      await writeChanges(tx, companyId, changesOf(steps), by)
      outcomes.push(...steps.map(({ kind, fault }) => ({ kind, fault })))
    }
    await keep(tx, outcomes)
  })
}

const toItem = (write: ContactWrite, id?: number): Item => ({
  write,
  emailKey: write.email ? emailKey(write.email) : null,
  phoneIdentity: write.phone ? phoneIdentity(write.phone) : null,
  id,
})

const askedBy = (items: readonly Item[]) => ({
  identities: [...new Set(items.flatMap(identitiesOf))],
  ids: idsOf(items),
})

const idsOf = (items: readonly Item[]): number[] => items.flatMap(({ id }) => (id === undefined ? [] : [id]))

/** The leading items, applied in memory; the next call sees what was written of them. */
async function stepsOf(
  tx: Db,
  companyId: number,
  items: readonly Item[],
  locked: ReadonlySet<string>,
  whenFull: WhenFull,
): Promise<Step[]> {
  const known = await readMeant(tx, companyId, {
    emailKeys: items.map((item) => item.emailKey).filter((key) => key !== null),
    phones: items.map((item) => item.phoneIdentity).filter((identity) => identity !== null),
    ids: idsOf(items),
  })
  checkLocked(locked, known)
  const steps = takeSteps(items, known, whenFull)
  const strangers = [...new Set(steps.map((step) => step.person))].filter(
    (person) => person.known === undefined && person.state !== undefined,
  )
  const ids = await takeContactIds(tx, strangers.length)
  for (const [place, person] of strangers.entries()) person.id = ids[place] ?? person.id
  return steps
}

/** Writes everybody once; answers each step's contact as it was after that step. */
async function writeSteps(tx: Db, companyId: number, steps: readonly Step[], by: ChangedBy): Promise<Contact[]> {
  const written = await writeChanges(tx, companyId, changesOf(steps, { all: true }), by)
  const byId = new Map(written.map((contact) => [contact.id, contact]))
  return steps.flatMap(({ person, state }) => {
    const contact = byId.get(person.id)
    return contact === undefined ? [] : [person.state === state ? contact : { ...contact, ...state, id: person.id }]
  })
}
