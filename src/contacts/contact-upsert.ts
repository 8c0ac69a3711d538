import type { Db, Pool } from '../db/connect.ts'
import { emailKey } from '../email-address.ts'
import { validationError } from '../errors.ts'
import { phoneIdentity } from '../phone.ts'
import { rowsOf, writeChanges } from './contact-change.ts'
import type { ChangedBy, Contact, ContactWrite } from './contact-record.ts'
import { type ContactRows, takeContactIds } from './contact-store.ts'
import { changesOf, type Item, type Step, takeSteps, type WhenFull } from './contact-wave.ts'
import { checkLocked, type Locked, withPeopleLocked } from './people-lock.ts'
import { readMeant } from './people-store.ts'

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
  /** Runs at the end of the transaction that writes the contacts; when it throws, nothing is written. */
  alsoCommit?: (tx: Db, contacts: readonly Contact[]) => Promise<void>
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
  { whenFull = 'refuse', isArray = false, alsoCommit }: UpsertOptions = {},
): Promise<Contact[]> {
  const items = writes.map((write) => toItem(write))
  return withPeopleLocked(db, companyId, items, async (tx, locked) => {
    const contacts: Contact[] = []
    while (contacts.length < items.length) {
      const steps = await stepsOf(tx, companyId, items, contacts.length, locked, whenFull)
      refuseFull(steps, contacts.length, isArray)
      contacts.push(...(await writeSteps(tx, companyId, steps, by)))
    }
    await alsoCommit?.(tx, contacts)
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

/** Rows of a list, ready to be written: what they come to when nobody is known yet is worked out beforehand. */
export type PreparedRows = {
  readonly items: readonly Item[]
  readonly ifStrangers: readonly Step[]
  readonly strangers: ContactRows
}

/** Ids are given out here, so that whoever writes the rows waits for nothing. Where somebody is known they are in vain. */
export async function prepareRows(
  db: Db,
  rows: readonly { write: ContactWrite; id?: number | undefined }[],
): Promise<PreparedRows> {
  const items = rows.map(({ write, id }) => toItem(write, id))
  const ifStrangers = takeSteps(items, [], 'refuse')
  await giveIds(db, ifStrangers)
  return { items, ifStrangers, strangers: rowsOf(changesOf(ifStrangers)) }
}

/**
 * The same for rows of a list, which are refused alone: answers what became of each to `keep`, in the transaction that
 * writes them. Contacts that stay as they are are not written.
 */
export async function upsertRows(
  db: Pool,
  companyId: number,
  { items, ifStrangers, strangers }: PreparedRows,
  by: ChangedBy,
  keep: (tx: Db, outcomes: readonly RowOutcome[]) => Promise<void>,
): Promise<void> {
  await withPeopleLocked(db, companyId, items, async (tx, locked) => {
    const outcomes: RowOutcome[] = []
    while (outcomes.length < items.length) {
      const areStrangers = outcomes.length === 0 && locked.met.length === 0
      const steps = areStrangers ? ifStrangers : await stepsOf(tx, companyId, items, outcomes.length, locked, 'refuse')
      await writeChanges(tx, companyId, changesOf(steps), by, areStrangers ? strangers : undefined)
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

/** The items from a place on, applied in memory as far as that goes; the next call sees what was written of them. */
async function stepsOf(
  tx: Db,
  companyId: number,
  items: readonly Item[],
  from: number,
  locked: Locked,
  whenFull: WhenFull,
): Promise<Step[]> {
  const rest = items.slice(from)
  // Until something is written, only those who were met while they were locked can mean anybody.
  const asked = from > 0 ? rest : locked.met.flatMap((place) => items[place] ?? [])
  const known = asked.length === 0 ? [] : await readMeant(tx, companyId, asked)
  checkLocked(locked, known)
  const steps = takeSteps(rest, known, whenFull)
  await giveIds(tx, steps)
  return steps
}

async function giveIds(db: Db, steps: readonly Step[]): Promise<void> {
  const people = new Set(steps.map((step) => step.person))
  const strangers = [...people].filter((person) => person.known === undefined && person.state !== undefined)
  const ids = await takeContactIds(db, strangers.length)
  for (const [place, person] of strangers.entries()) person.id = ids[place] ?? person.id
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
