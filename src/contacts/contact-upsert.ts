import type { Db, Pool } from '../db/connect.ts'
import { validationError } from '../errors.ts'
import { emailKey } from '../text/email-address.ts'
import { phoneIdentity } from '../text/phone.ts'
import { rowsOf, writeChanges } from './contact-change.ts'
import type { ChangedBy, Contact, ContactWrite } from './contact-record.ts'
import { type ContactRow, type ContactState, takeContactIds } from './contact-store.ts'
import { applyItems, changesOf, type Item, type Step, type WhenFull } from './matching/contact-batch.ts'
import { withMatchesLocked } from './matching/identity-lock.ts'
import type { Match } from './matching/identity-store.ts'

/** Most contacts in one call. */
export const UPSERT_MAX_CONTACTS = 1000

export type UpsertOptions = {
  /**
   * What happens to custom fields that would exceed their limits together with the stored ones: `refuse` the whole call
   * (422), or `keep` the stored ones. A caller who may not learn whether a contact exists needs the latter.
   */
  whenFull?: WhenFull
  /** Whether faults are named by the index of their write, as they are when the caller gave an array. */
  isArray?: boolean
  /** `email` leaves the phone out of matching, as the legacy address does. */
  matchBy?: 'email' | 'email or phone'
  /** Runs at the end of the transaction that writes the contacts; when it throws, nothing is written. */
  alsoCommit?: (tx: Db, contacts: readonly Contact[]) => Promise<void>
}

/**
 * Creates or updates contacts, in the order given, all or nothing (spec: Contacts, Matching rules): each is the living
 * contact with its email, else the oldest living one with its phone, else a new one. Returns the contacts in the same
 * order, each as it was after its own write. Every write names an email or a phone. Each row is written once, in a
 * number of statements that does not depend on the writes.
 * 422 `validation_error` when custom fields exceed their limits; 503 when other requests keep the contacts locked.
 */
export async function upsertContacts(
  db: Pool,
  companyId: number,
  writes: readonly ContactWrite[],
  by: ChangedBy,
  { whenFull = 'refuse', isArray = false, matchBy = 'email or phone', alsoCommit }: UpsertOptions = {},
): Promise<Contact[]> {
  const items = writes.map((write) => toItem(write))
  const named = matchBy === 'email' ? items.map((item) => ({ ...item, phoneIdentity: null })) : items
  const write = async (tx: Db, matches: readonly Match[], ids: readonly number[]) => {
    const steps = applyItems(named, matches, whenFull)
    refuseFull(steps, isArray)
    await giveIds(tx, steps, ids)
    const contacts = await writeSteps(tx, companyId, steps, by)
    await alsoCommit?.(tx, contacts)
    return contacts
  }
  return withMatchesLocked(db, companyId, named, write, { ids: named.length })
}

function refuseFull(steps: readonly Step[], isArray: boolean): void {
  for (const [index, { fault }] of steps.entries()) {
    if (fault === undefined) continue
    throw validationError([{ path: isArray ? `${index}.customFields` : 'customFields', message: fault }])
  }
}

export type RowOutcome = { readonly kind: Step['kind']; readonly fault?: string | undefined }

/** Rows of a list, ready to be written: `ifNew` is computed beforehand and holds when no contact matches. */
export type PreparedRows = {
  readonly items: readonly Item[]
  readonly ifNew: readonly Step[]
  readonly newRows: readonly ContactRow[]
}

/** Takes the ids of new contacts here, so that the transaction waits for nothing; those of matched rows are not used. */
export async function prepareRows(
  db: Db,
  rows: readonly { write: ContactWrite; id?: number | undefined }[],
): Promise<PreparedRows> {
  const items = rows.map(({ write, id }) => toItem(write, id))
  const ifNew = applyItems(items, [], 'refuse')
  await giveIds(db, ifNew)
  return { items, ifNew, newRows: rowsOf(changesOf(ifNew)) }
}

/**
 * The same for rows of a list, which are refused alone: hands the outcome of each to `keep`, in the transaction that
 * writes them. Unchanged contacts are not written. Waits for locks until `signal` aborts.
 */
export async function upsertRows(
  db: Pool,
  companyId: number,
  { items, ifNew, newRows }: PreparedRows,
  by: ChangedBy,
  keep: (tx: Db, outcomes: readonly RowOutcome[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const write = async (tx: Db, matches: readonly Match[]) => {
    const areNew = matches.length === 0
    const steps = areNew ? ifNew : applyItems(items, matches, 'refuse')
    if (!areNew) await giveIds(tx, steps)
    await writeChanges(tx, companyId, changesOf(steps), by, areNew ? newRows : undefined)
    await keep(
      tx,
      steps.map(({ kind, fault }) => ({ kind, fault })),
    )
  }
  await withMatchesLocked(db, companyId, items, write, { lane: 'import', signal })
}

const toItem = (write: ContactWrite, id?: number): Item => ({
  write,
  emailKey: write.email ? emailKey(write.email) : null,
  phoneIdentity: write.phone ? phoneIdentity(write.phone) : null,
  id,
})

async function giveIds(db: Db, steps: readonly Step[], taken: readonly number[] = []): Promise<void> {
  const people = new Set(steps.map((step) => step.person))
  const added = [...people].filter((person) => person.known === undefined && person.state !== undefined)
  const ids = taken.length >= added.length ? taken : await takeContactIds(db, added.length)
  for (const [place, person] of added.entries()) person.id = ids[place] ?? person.id
}

/** Writes each contact once; returns each step's contact as it was after that step. */
async function writeSteps(tx: Db, companyId: number, steps: readonly Step[], by: ChangedBy): Promise<Contact[]> {
  const written = await writeChanges(tx, companyId, changesOf(steps, { all: true }), by)
  const byId = new Map(written.map((contact) => [contact.id, contact]))
  return steps.flatMap(({ person, state }) => {
    const contact = byId.get(person.id)
    return contact === undefined ? [] : [person.state === state ? contact : afterStep(contact, person.state, state)]
  })
}

/** A contact after a step that others follow. The opt-out of an email or phone that it keeps was found by the write. */
function afterStep(written: Contact, last: ContactState | undefined, state: ContactState): Contact {
  const keepsEmail = last?.email === state.email && last.emailConsent === state.emailConsent
  const keepsPhone = last?.phone === state.phone && last.whatsappConsent === state.whatsappConsent
  return {
    ...written,
    ...state,
    id: written.id,
    ...(keepsEmail && { emailConsent: written.emailConsent }),
    ...(keepsPhone && { whatsappConsent: written.whatsappConsent }),
  }
}
