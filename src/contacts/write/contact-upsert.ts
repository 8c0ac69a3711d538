import type { RecordEvents } from '../../changes/record-change.ts'
import type { Db, Pool } from '../../db/connect.ts'
import { currentRequest, onBehalfOf, type SlotRequest } from '../../db/pool/fair-pool.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import type { Batcher } from '../../fair/fair-line.ts'
import type { ChangedBy, Contact, ContactWrite } from '../../people/contact-record.ts'
import { type ContactRow, takeContactIds } from '../../people/contact-store.ts'
import {
  type Commit,
  identitiesOf,
  isFree,
  type LockedWork,
  SMALL_BATCH,
  tryWithMatchesLocked,
  withMatchesLocked,
} from '../../people/matching/identity-lock.ts'
import { refuseTwins, rekeyMailboxes } from '../../people/matching/mailbox.ts'
import { validationError } from '../../platform/errors.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'
import type { BrowserRights } from './browser-write.ts'
import {
  applyItems,
  applyLocked,
  type Batch,
  changesOf,
  type Item,
  type ItemFault,
  type ItemResult,
  type WhenFull,
} from './contact-batch.ts'
import { rowsOf, writeChanges } from './contact-change.ts'
import { refuseWrongClaims } from './record-claims.ts'

export const UPSERT_MAX_CONTACTS = 1000

type UpsertOptions = {
  /** If custom fields exceed their limits: `keep` must be used where a 422 would reveal a stored contact. */
  whenFull?: WhenFull
  isArray?: boolean
  /** `email` ignores the phone, for the legacy API. */
  matchBy?: 'email' | 'email or phone'
  browser?: readonly BrowserRights[] | undefined
  /** Runs in the write transaction and rolls back on errors. Without it, single contacts may share a transaction. */
  alsoCommit?: ((tx: Db, contacts: readonly Contact[]) => Promise<void>) | undefined
  /** Allows a mailbox used by another contact under another spelling. */
  mayShareMailbox?: boolean
  events?: RecordEvents | undefined
}

/**
 * Creates or updates contacts, in order, all or nothing (spec: Contacts, Matching rules): matches the living contact
 * with the email, else the oldest with the phone. Returns the contacts in order, each after its own write. Every write
 * must have an email or a phone. Writes each row once, with a constant number of statements.
 * @throws 422 `validation_error` if custom fields exceed their limits; 503 if other requests keep the contacts locked
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
  const emailKeys = items.flatMap((item) => item.emailKey ?? [])
  if (emailKeys.length > 0) {
    const twins = await rekeyMailboxes(db, companyId, emailKeys)
    if (!options.mayShareMailbox) refuseTwins(twins)
  }
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
    const batch = await applyLocked(tx, companyId, items, locked, { whenFull, source: by.source })
    for (const [index, { fault }] of batch.results.entries()) {
      if (fault !== undefined) throw faultOf(fault, isArray ? `${index}` : '')
    }
    await refuseWrongClaims(
      tx,
      companyId,
      batch.results.map(({ target }, place) => ({ contact: target.existing, claims: items[place]?.write.claims })),
    )
    await giveIds(tx, batch.results, locked.ids)
    const options = { commit: alsoCommit === undefined ? commit : undefined, events }
    const contacts = await writeBatch(tx, companyId, batch, by, options)
    await alsoCommit?.(tx, contacts)
    return contacts
  }
  return withMatchesLocked(db, companyId, items, write, { ids: items.length })
}

const faultOf = ({ path, message }: ItemFault, at = '') =>
  validationError([{ path: [at, path].filter((part) => part !== '').join('.'), message }])

type End = () => Contact[] | Promise<Contact[]>
const upsertInGroup = createGroups<Item, End>()

/** Writes contacts from several requests in one transaction; each is retried alone if a lock is taken. */
async function upsertGroup(
  db: Pool,
  companyId: number,
  items: readonly Item[],
  by: ChangedBy,
  options: { whenFull: WhenFull; events: RecordEvents | undefined },
): Promise<End[]> {
  const write: LockedWork<End[]> = async (tx, locked, commit) => {
    const { whenFull, events } = options
    const batch = await applyLocked(tx, companyId, items, locked, { whenFull, source: by.source })
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

/** `ifNew` is computed beforehand and applies if no contact matches. */
export type PreparedRows = {
  readonly items: readonly Item[]
  readonly ifNew: Batch
  readonly newRows: readonly ContactRow[]
}

const IMPORTED = { whenFull: 'refuse', source: 'import' } as const

/** Prepares rows and allocates ids outside the transaction; ids of matched rows are wasted. */
export async function prepareRows(
  db: Db,
  rows: readonly { write: ContactWrite; id?: number | undefined }[],
): Promise<PreparedRows> {
  const items = rows.map(({ write, id }) => toItem(write, id))
  const ifNew = await applyItems(items, [], IMPORTED)
  await giveIds(db, ifNew.results)
  return { items, ifNew, newRows: rowsOf(changesOf(ifNew).contacts) }
}

/** Upserts list rows; `keep` gets each outcome in the transaction. Waits for locks until `signal` aborts. */
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
    const batch = areNew ? ifNew : await applyLocked(tx, companyId, items, locked, IMPORTED)
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

/** Writes each contact once, but returns each result's own state. */
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

/** One group runs while the other waits for the disk. */
const GROUPS_AT_ONCE = 2
/** Maximum number of waiting writes per key; more are refused at once. */
const WAITING_MAX = 500

type Write<Item> = { readonly item: Item; readonly request: SlotRequest | undefined }
type Group<Item, Result> = { readonly add: Batcher<Write<Item>, Result>; count: number }

function createGroups<Item, Result>() {
  const groupsOf = new WeakMap<Pool, Map<string, Group<Item, Result>>>()
  /**
   * Runs up to 25 waiting writes together, in at most two groups per key; `run` must do the same for each write of a
   * key. Throws 503 if 500 are waiting.
   */
  return async (
    pool: Pool,
    key: string,
    item: Item,
    run: (items: readonly Item[]) => Promise<Result[]>,
  ): Promise<Result> => {
    const groups = groupsOf.get(pool) ?? new Map<string, Group<Item, Result>>()
    groupsOf.set(pool, groups)
    const group = groups.get(key) ?? { add: createGroupBatcher(run), count: 0 }
    groups.set(key, group)
    group.count += 1
    try {
      return await group.add({ item, request: currentRequest() })
    } finally {
      group.count -= 1
      if (group.count === 0) groups.delete(key)
    }
  }
}

const createGroupBatcher = <Item, Result>(run: (items: readonly Item[]) => Promise<Result[]>) =>
  createStatementBatcher<Write<Item>, Result>({
    run: (writes) => onBehalfOfAll(writes, () => run(writes.map(({ item }) => item))),
    maxItems: SMALL_BATCH,
    maxRunning: GROUPS_AT_ONCE,
    maxWaiting: WAITING_MAX,
  })

/** A group keeps its slot request while any caller waits, not only the first. */
function onBehalfOfAll<T>(writes: readonly Write<unknown>[], work: () => T): T {
  const requests = writes.flatMap(({ request }) => request ?? [])
  const [first] = requests
  if (first === undefined) return work()
  return onBehalfOf({ ...first, isAwaited: () => requests.some(({ isAwaited }) => isAwaited()) }, work)
}
