import { setTimeout as sleep } from 'node:timers/promises'
import type { Db, Pool } from '../../db/connect.ts'
import { isContention, sqlState } from '../../db/pool/failure.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { serviceUnavailable } from '../../platform/errors.ts'
import { takeContactIds } from '../contact-store.ts'
import { attachCustomers } from './attach-customers.ts'
import { runExclusive } from './contact-queue.ts'
import {
  type BatchLane,
  listCustomerPhones,
  type Match,
  type Named,
  readKnown,
  readMatches,
  tryLockContacts,
} from './identity-store.ts'

/** A write with more names than this takes the place of a large batch. */
export const SMALL_BATCH = 25
const GIVE_UP_AFTER_MS = 20_000
const WAIT_MS = { first: 4, longest: 128 }
/** A pause is at least so many times as long as the attempt before it: those who wait leave the database to those who work. */
const PAUSES_TO_ATTEMPT = 4
const LONGEST_PAUSE_MS = 2_000
const LOCK_NOT_AVAILABLE = '55P03'

/** Thrown by work when a lock that it needs is taken: it is rolled back and begins again later. */
class Busy extends Error {}

/** Locks more identities within the work. @throws Busy when one of them is taken */
export async function lockAlso(tx: Db, companyId: number, identities: readonly string[]): Promise<void> {
  if (!(await tryLockContacts(tx, companyId, identities, null))) throw new Busy()
}

/**
 * Attaches the customers with these numbers, and those of the contact, to the stored contact of the person where the one that
 * they have was deleted.
 * @throws Busy when another transaction has one of them
 */
export async function attachCustomersOf(
  tx: Db,
  companyId: number,
  contactId: number,
  phones: readonly (string | null)[] = [],
): Promise<void> {
  const own = await listCustomerPhones(tx, companyId, contactId)
  const named = phones.filter((phone) => phone !== null)
  if (!(await attachCustomers(tx, companyId, [...own, ...named]))) throw new Busy()
}

/** The identities that a write names: its address and its phone's. */
export const identitiesOf = ({ emailKey, phoneIdentity }: Named): string[] =>
  [emailKey === null ? null : `mailto:${emailKey}`, phoneIdentity].filter((identity) => identity !== null)

/** Sends the commit of the transaction. */
export type Commit = () => Promise<unknown>

/** The facts that were read behind the locks. */
export type Locked = {
  /** The contacts that the write can match. */
  readonly matches: readonly Match[]
  /** Whether the ledger of consent may say something of a new contact with a named identity. */
  readonly areKnown: boolean
  /** Free for new contacts. */
  readonly ids: readonly number[]
}

export type LockedWork<T> = (tx: Db, locked: Locked, commit: Commit) => Promise<T>

export type LockOptions = {
  lane?: BatchLane
  /** Ids that a small write may need for new contacts: allocated with the locks, since the matches are not known yet. */
  ids?: number
  /** Until this aborts, the work waits as long as it takes; without it, 20 seconds. */
  signal?: AbortSignal
}

/**
 * Runs the work in one transaction that holds the locks of the named identities, which sends and inbound messages to
 * the same customers take, too, and of the rows of the contacts that they can match: the work gets these.
 *
 * Work of this process waits in front of the pool. When another process has one of the locks, the transaction ends and
 * begins again after a pause: waiting holds no connection, and no two transactions wait for each other.
 * The first statements go together with `begin`. Awaited together with the last ones, `commit` goes right behind them, so
 * that a small write takes two round trips; work that does not call it is committed when it returns.
 * 503 when the locks are taken for 20 seconds.
 */
export async function withMatchesLocked<T>(
  db: Pool,
  companyId: number,
  named: readonly Named[],
  work: LockedWork<T>,
  options: LockOptions = {},
): Promise<T> {
  const { lane = 'array', signal } = options
  return runExclusive(db, companyId, queueKeysOf(named, lane), async () => {
    const giveUpAtMs = signal === undefined ? monotonicMs() + GIVE_UP_AFTER_MS : Number.POSITIVE_INFINITY
    for (let waitMs = WAIT_MS.first; ; waitMs = Math.min(2 * waitMs, WAIT_MS.longest)) {
      const attemptedAtMs = monotonicMs()
      const outcome = await attempt(db, companyId, named, work, options)
      if (outcome !== undefined) return outcome.value
      const nowMs = monotonicMs()
      if (nowMs > giveUpAtMs) throw tooBusy()
      const sleepMs = Math.min(pauseMs(waitMs, nowMs - attemptedAtMs), giveUpAtMs - nowMs + 1)
      await sleep(sleepMs, undefined, { signal }).catch(() => signal?.throwIfAborted())
    }
  })
}

/** The pause after an attempt: of a random length, so that those who wait for each other don't meet again. */
export const pauseMs = (waitMs: number, attemptMs: number, random = Math.random()): number =>
  Math.min(Math.max(waitMs, PAUSES_TO_ATTEMPT * attemptMs), LONGEST_PAUSE_MS) * (0.5 + random)

/** The same in one attempt: undefined, and nothing done, when another process has one of the locks. */
export async function tryWithMatchesLocked<T>(
  db: Pool,
  companyId: number,
  named: readonly Named[],
  work: LockedWork<T>,
): Promise<{ value: T } | undefined> {
  const run = () => attempt(db, companyId, named, work, { ids: named.length })
  return runExclusive(db, companyId, queueKeysOf(named, 'array'), run)
}

async function attempt<T>(
  db: Pool,
  companyId: number,
  named: readonly Named[],
  work: LockedWork<T>,
  { lane = 'array', ids = 0 }: LockOptions,
): Promise<{ value: T } | undefined> {
  const large = isLarge(named) ? lane : null
  const run = async (tx: Db, commit: Commit) => {
    // Sent at once, all harmless without a transaction; the server looks in a statement of its own, after it has the locks.
    const identities = allIdentitiesOf(named)
    const [isLocked, matches, { areKnown, detached }, newIds] = await Promise.all([
      tryLockContacts(tx, companyId, identities, large),
      readMatches(tx, companyId, named),
      readKnown(tx, companyId, identities),
      takeContactIds(tx, large === null ? ids : 0),
    ])
    if (!isLocked || matches === undefined) throw new Busy()
    if (detached.length > 0) return workOnDetached(tx, companyId, named, detached, { areKnown, ids: newIds }, work)
    return { value: await work(tx, { matches, areKnown, ids: newIds }, commit) }
  }
  try {
    const outcome = await db.begin('isolation level read committed', (tx) => run(tx, tx.commit), { pipelined: true })
    return outcome as { value: T }
  } catch (error) {
    if (isBusy(error)) return undefined
    throw error
  }
}

/**
 * Works where numbers lead to customers whose contact was deleted: a contact that is stored already is theirs before the
 * matches are read, and one that the work stores is theirs afterwards.
 */
async function workOnDetached<T>(
  tx: Db,
  companyId: number,
  named: readonly Named[],
  detached: readonly string[],
  locked: Omit<Locked, 'matches'>,
  work: LockedWork<T>,
): Promise<{ value: T }> {
  if (!(await attachCustomers(tx, companyId, detached))) throw new Busy()
  const matches = await readMatches(tx, companyId, named)
  if (matches === undefined) throw new Busy()
  const value = await work(tx, { ...locked, matches }, async () => {})
  await attachCustomers(tx, companyId, detached)
  return { value }
}

const allIdentitiesOf = (named: readonly Named[]): string[] => [...new Set(named.flatMap(identitiesOf))]

const isLarge = (named: readonly Named[]): boolean => named.length > SMALL_BATCH

/** The keys that work of this process waits for: its identities, the contacts that it names, or the place of a large batch. */
function queueKeysOf(named: readonly Named[], lane: BatchLane): string[] {
  const identities = allIdentitiesOf(named)
  if (isLarge(named)) return [...identities, lane]
  return [...identities, ...named.flatMap(({ id }) => (id === undefined ? [] : [`id:${id}`]))]
}

const tooBusy = () => serviceUnavailable('These contacts are being changed by too many requests at once: try again')

const isBusy = (error: unknown): boolean =>
  error instanceof Busy || isContention(error) || sqlState(error) === LOCK_NOT_AVAILABLE
