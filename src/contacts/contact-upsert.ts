import type { Db, Pool } from '../db/connect.ts'
import { validationError } from '../errors.ts'
import { emailKey } from '../text/email-address.ts'
import { phoneIdentity } from '../text/phone.ts'
import { rowsOf, writeChanges } from './contact-change.ts'
import type { ChangedBy, Contact, ContactWrite } from './contact-record.ts'
import { type ContactRow, type ContactState, takeContactIds } from './contact-store.ts'
import { applyItems, changesOf, type Item, type ItemResult, type WhenFull } from './matching/contact-batch.ts'
import { createGroups } from './matching/contact-group.ts'
import { isFree } from './matching/contact-queue.ts'
import {
  type Commit,
  identitiesOf,
  type LockedWork,
  tryWithMatchesLocked,
  withMatchesLocked,
} from './matching/identity-lock.ts'
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
  /**
   * Runs at the end of the transaction that writes the contacts; when it throws, nothing is written. Without it, a single
   * contact may share the transaction of others.
   */
  alsoCommit?: ((tx: Db, contacts: readonly Contact[]) => Promise<void>) | undefined
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
  options: UpsertOptions = {},
): Promise<Contact[]> {
  const { isArray = false, matchBy = 'email or phone', alsoCommit } = options
  const items = writes.map((write) => withMatchBy(toItem(write), matchBy))
  const [item] = items
  const mayShare = item !== undefined && items.length === 1 && !isArray && alsoCommit === undefined
  if (!mayShare || !isFree(db, companyId, identitiesOf(item))) return upsertAlone(db, companyId, items, by, options)
  const { whenFull = 'refuse' } = options
  const key = JSON.stringify([companyId, by.clientId, by.source, whenFull])
  const end = await upsertInGroup(db, key, item, (group) => upsertGroup(db, companyId, group, by, whenFull))
  return end()
}

const withMatchBy = (item: Item, matchBy: 'email' | 'email or phone'): Item =>
  matchBy === 'email' ? { ...item, phoneIdentity: null } : item

async function upsertAlone(
  db: Pool,
  companyId: number,
  items: readonly Item[],
  by: ChangedBy,
  { whenFull = 'refuse', isArray = false, alsoCommit }: UpsertOptions,
): Promise<Contact[]> {
  const write: LockedWork<Contact[]> = async (tx, matches, ids, commit) => {
    const results = applyItems(items, matches, whenFull)
    for (const [index, { fault }] of results.entries()) {
      if (fault !== undefined) throw fieldsFault(fault, isArray ? `${index}.` : '')
    }
    await giveIds(tx, results, ids)
    const contacts = await writeResults(tx, companyId, results, by, alsoCommit === undefined ? commit : undefined)
    await alsoCommit?.(tx, contacts)
    return contacts
  }
  return withMatchesLocked(db, companyId, items, write, { ids: items.length })
}

const fieldsFault = (message: string, path = '') => validationError([{ path: `${path}customFields`, message }])

/** How a write of a group ends: with its contact, or with an error of its own. */
type End = () => Contact[] | Promise<Contact[]>
const upsertInGroup = createGroups<Item, End>()

/**
 * Writes single contacts of several requests in one transaction, each as if it came alone. When another process has the
 * lock of one of them, each goes on alone.
 */
async function upsertGroup(
  db: Pool,
  companyId: number,
  items: readonly Item[],
  by: ChangedBy,
  whenFull: WhenFull,
): Promise<End[]> {
  const write: LockedWork<End[]> = async (tx, matches, ids, commit) => {
    const results = applyItems(items, matches, whenFull)
    await giveIds(tx, results, ids)
    const accepted = results.filter(({ fault }) => fault === undefined)
    const contacts = await writeResults(tx, companyId, accepted, by, commit)
    const contactOf = new Map(accepted.map((result, place) => [result, contacts.slice(place, place + 1)]))
    return results.map((result): End => {
      const { fault } = result
      if (fault !== undefined) return () => Promise.reject(fieldsFault(fault))
      return () => contactOf.get(result) ?? []
    })
  }
  const written = await tryWithMatchesLocked(db, companyId, items, write)
  return written?.value ?? items.map((item) => () => upsertAlone(db, companyId, [item], by, { whenFull }))
}

export type RowOutcome = { readonly kind: ItemResult['kind']; readonly fault?: string | undefined }

/** Rows of a list, ready to be written: `ifNew` is computed beforehand and holds when no contact matches. */
export type PreparedRows = {
  readonly items: readonly Item[]
  readonly ifNew: readonly ItemResult[]
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
    const results = areNew ? ifNew : applyItems(items, matches, 'refuse')
    if (!areNew) await giveIds(tx, results)
    await writeChanges(tx, companyId, changesOf(results), by, { addedRows: areNew ? newRows : undefined })
    await keep(
      tx,
      results.map(({ kind, fault }) => ({ kind, fault })),
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

async function giveIds(db: Db, results: readonly ItemResult[], taken: readonly number[] = []): Promise<void> {
  const targets = new Set(results.map((result) => result.target))
  const added = [...targets].filter((target) => target.known === undefined && target.state !== undefined)
  const ids = taken.length >= added.length ? taken : await takeContactIds(db, added.length)
  for (const [place, target] of added.entries()) target.id = ids[place] ?? target.id
}

/** Writes each contact once; returns each result's contact as it was after that result. */
async function writeResults(
  tx: Db,
  companyId: number,
  results: readonly ItemResult[],
  by: ChangedBy,
  commit: Commit | undefined,
): Promise<Contact[]> {
  const written = await writeChanges(tx, companyId, changesOf(results, { all: true }), by, { commit })
  const byId = new Map(written.map((contact) => [contact.id, contact]))
  return results.flatMap(({ target, state }) => {
    const contact = byId.get(target.id)
    return contact === undefined ? [] : [target.state === state ? contact : afterItem(contact, target.state, state)]
  })
}

/** A contact after a result that others follow. The opt-out of an email or phone that it keeps was found by the write. */
function afterItem(written: Contact, last: ContactState | undefined, state: ContactState): Contact {
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
