import type { RecordEvents } from '../../changes/record-change.ts'
import type { Db, Pool } from '../../db/connect.ts'
import { type ContactRow, takeContactIds } from '../../people/contact-store.ts'
import { isFree } from '../../people/matching/contact-queue.ts'
import {
  type Commit,
  identitiesOf,
  type LockedWork,
  tryWithMatchesLocked,
  withMatchesLocked,
} from '../../people/matching/identity-lock.ts'
import type { ChangedBy, Contact, ContactWrite, RecordClaim } from '../../people/members/contact-record.ts'
import { validationError } from '../../platform/errors.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'
import { applyLocked } from '../matching/apply-locked.ts'
import {
  applyInStretches,
  applyItems,
  type Batch,
  changesOf,
  type Item,
  type ItemFault,
  type ItemResult,
  type WhenFull,
} from '../matching/contact-batch.ts'
import { createGroups } from '../matching/contact-group.ts'
import { refuseTwins, rekeyMailboxes } from '../matching/mailbox.ts'
import type { BrowserRights } from './browser-write.ts'
import { rowsOf, writeChanges } from './contact-change.ts'
import { refuseClaims } from './contact-faults.ts'
import { findWrongClaims } from './record-claims.ts'

/** Most contacts in one call. */
export const UPSERT_MAX_CONTACTS = 1000

export type UpsertOptions = {
  /**
   * The handling of custom fields that would exceed their limits together with the stored ones: `refuse` the whole call
   * (422), or `keep` the stored ones. A caller who may not learn whether a contact exists needs the latter.
   */
  whenFull?: WhenFull
  /** Whether faults are named by the index of their write, as they are when the caller gave an array. */
  isArray?: boolean
  /** `email` leaves the phone out of matching, as the legacy address does. */
  matchBy?: 'email' | 'email or phone'
  /** Of a key of a browser: what each of the writes may write. */
  browser?: readonly BrowserRights[] | undefined
  /**
   * Runs at the end of the transaction that writes the contacts; when it throws, nothing is written. Without it, a single
   * contact may share the transaction of others.
   */
  alsoCommit?: ((tx: Db, contacts: readonly Contact[]) => Promise<void>) | undefined
  /** Whether a mailbox that another contact has under another spelling is written all the same. */
  mayShareMailbox?: boolean
  /** Gets the changes of the contacts. */
  events?: RecordEvents | undefined
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
  const items = writes.map((write, place) => ({
    ...withMatchBy(toItem(write), matchBy),
    browser: options.browser?.[place],
  }))
  const twins = await rekeyMailboxes(
    db,
    companyId,
    items.flatMap((item) => item.emailKey ?? []),
  )
  if (!options.mayShareMailbox) refuseTwins(twins)
  const [item] = items
  const hasClaims = item?.write.claims !== undefined
  const mayShare = item !== undefined && items.length === 1 && !isArray && !hasClaims && alsoCommit === undefined
  if (!mayShare || !isFree(db, companyId, identitiesOf(item))) return upsertAlone(db, companyId, items, by, options)
  const { whenFull = 'refuse', events } = options
  const key = JSON.stringify([companyId, by.clientId, by.source, whenFull])
  const end = await upsertInGroup(db, key, item, (group) => upsertGroup(db, companyId, group, by, { whenFull, events }))
  return end()
}

const withMatchBy = (item: Item, matchBy: 'email' | 'email or phone'): Item =>
  matchBy === 'email' ? { ...item, phoneIdentity: null } : item

async function upsertAlone(
  db: Pool,
  companyId: number,
  items: readonly Item[],
  by: ChangedBy,
  { whenFull = 'refuse', isArray = false, alsoCommit, events }: UpsertOptions,
): Promise<Contact[]> {
  const write: LockedWork<Contact[]> = async (tx, locked, commit) => {
    const batch = await applyLocked(tx, companyId, items, locked, (facts) =>
      applyInStretches(items, locked.matches, { whenFull, source: by.source, facts }),
    )
    for (const [index, { fault }] of batch.results.entries()) {
      if (fault !== undefined) throw faultOf(fault, isArray ? `${index}` : '')
    }
    await refuseWrongClaims(tx, companyId, items, batch)
    await giveIds(tx, batch.results, locked.ids)
    const options = { commit: alsoCommit === undefined ? commit : undefined, events }
    const contacts = await writeBatch(tx, companyId, batch, by, options)
    await alsoCommit?.(tx, contacts)
    return contacts
  }
  return withMatchesLocked(db, companyId, items, write, { ids: items.length })
}

async function refuseWrongClaims(tx: Db, companyId: number, items: readonly Item[], batch: Batch): Promise<void> {
  const wrong: RecordClaim[] = []
  for (const [place, { target }] of batch.results.entries()) {
    wrong.push(...(await findWrongClaims(tx, companyId, target.existing, items[place]?.write.claims)))
  }
  refuseClaims(wrong)
}

const faultOf = ({ path, message }: ItemFault, at = '') =>
  validationError([{ path: [at, path].filter((part) => part !== '').join('.'), message }])

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
  options: { whenFull: WhenFull; events: RecordEvents | undefined },
): Promise<End[]> {
  const write: LockedWork<End[]> = async (tx, locked, commit) => {
    const { whenFull, events } = options
    const batch = await applyLocked(tx, companyId, items, locked, (facts) =>
      applyItems(items, locked.matches, { whenFull, source: by.source, facts }),
    )
    await giveIds(tx, batch.results, locked.ids)
    const accepted = batch.results.filter(({ fault }) => fault === undefined)
    const contacts = await writeBatch(tx, companyId, { ...batch, results: accepted }, by, { commit, events })
    const contactOf = new Map(accepted.map((result, place) => [result, contacts.slice(place, place + 1)]))
    return batch.results.map((result): End => {
      const { fault } = result
      if (fault !== undefined) return () => Promise.reject(faultOf(fault))
      return () => contactOf.get(result) ?? []
    })
  }
  const written = await tryWithMatchesLocked(db, companyId, items, write)
  return written?.value ?? items.map((item) => () => upsertAlone(db, companyId, [item], by, options))
}

export type RowOutcome = { readonly kind: ItemResult['kind']; readonly fault?: ItemFault | undefined }

/** Rows of a list, ready to be written: `ifNew` is computed beforehand and holds when no contact matches. */
export type PreparedRows = {
  readonly items: readonly Item[]
  readonly ifNew: Batch
  readonly newRows: readonly ContactRow[]
}

const IMPORTED = { whenFull: 'refuse', source: 'import' } as const

/** Takes the ids of new contacts here, so that the transaction waits for nothing; those of matched rows are not used. */
export async function prepareRows(
  db: Db,
  rows: readonly { write: ContactWrite; id?: number | undefined }[],
): Promise<PreparedRows> {
  const items = rows.map(({ write, id }) => toItem(write, id))
  const ifNew = await applyInStretches(items, [], IMPORTED)
  await giveIds(db, ifNew.results)
  return { items, ifNew, newRows: rowsOf(changesOf(ifNew).contacts) }
}

/**
 * The same for rows of a list, which are refused alone: hands the outcome of each to `keep`, in the transaction that
 * writes them. Unchanged contacts are not written. Waits for locks until `signal` aborts.
 */
export async function upsertRows(
  db: Pool,
  companyId: number,
  { items, ifNew, newRows }: PreparedRows,
  clientId: string | null,
  keep: (tx: Db, outcomes: readonly RowOutcome[]) => Promise<void>,
  { signal, events }: { signal: AbortSignal; events?: RecordEvents | undefined },
): Promise<void> {
  const write: LockedWork<void> = async (tx, locked) => {
    const areNew = locked.matches.length === 0 && !locked.areKnown
    const batch = areNew
      ? ifNew
      : await applyLocked(tx, companyId, items, locked, (facts) =>
          applyInStretches(items, locked.matches, { ...IMPORTED, facts }),
        )
    if (!areNew) await giveIds(tx, batch.results)
    const by = { clientId, source: IMPORTED.source }
    await writeChanges(tx, companyId, changesOf(batch), by, { addedRows: areNew ? newRows : undefined, events })
    await keep(
      tx,
      batch.results.map(({ kind, fault }) => ({ kind, fault })),
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
  const added = [...targets].filter((target) => target.existing === undefined && target.state !== undefined)
  const ids = taken.length >= added.length ? taken : await takeContactIds(db, added.length)
  for (const [place, target] of added.entries()) target.id = ids[place] ?? target.id
}

/** Writes each contact once; returns each result's contact as it was after that result. */
async function writeBatch(
  tx: Db,
  companyId: number,
  batch: Batch,
  by: ChangedBy,
  options: { commit: Commit | undefined; events: RecordEvents | undefined },
): Promise<Contact[]> {
  const written = await writeChanges(tx, companyId, changesOf(batch, { all: true }), by, options)
  const byId = new Map(written.map((contact) => [contact.id, contact]))
  return batch.results.flatMap(({ target, state }) => {
    const contact = byId.get(target.id)
    return contact === undefined ? [] : [{ ...contact, ...state, id: target.id }]
  })
}
