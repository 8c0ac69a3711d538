import { setTimeout as sleep } from 'node:timers/promises'
import type { Db, Pool } from '../../db/connect.ts'
import { isContention, sqlState } from '../../db/pool/failure.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { serviceUnavailable } from '../../platform/errors.ts'
import { refreshContacts } from '../consent/shown-consent.ts'
import { takeContactIds } from '../contact-store.ts'
import { tryLockCustomers, updateCustomers } from '../customer-store.ts'
import { attachStored } from '../people.ts'
import { readPersons, toPeople } from '../people-store.ts'
import {
  type BatchLane,
  listCustomerPhones,
  type Match,
  type Named,
  readKnown,
  readMatches,
  tryLockContacts,
} from './identity-store.ts'

/** Larger writes count as large batches, limited by lane. */
export const SMALL_BATCH = 25
const GIVE_UP_AFTER_MS = 20_000
const WAIT_MS = { first: 4, longest: 128 }
/** Pauses last at least this many attempts, leaving the database to running work. */
const PAUSES_TO_ATTEMPT = 4
const LONGEST_PAUSE_MS = 2_000
const LOCK_NOT_AVAILABLE = '55P03'

/** Thrown if a lock is taken; rolls the work back for a later attempt. */
class Busy extends Error {}

export async function lockAlso(tx: Db, companyId: number, identities: readonly string[]): Promise<void> {
  if (!(await tryLockContacts(tx, companyId, identities, null))) throw new Busy()
}

/** Attaches customers to the person's stored contact where theirs was deleted. Throws `Busy` if one is locked. */
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

export const identitiesOf = ({ emailKey, phoneIdentity }: Named): string[] =>
  [emailKey === null ? null : `mailto:${emailKey}`, phoneIdentity].filter((identity) => identity !== null)

export type Commit = () => Promise<unknown>

export type Locked = {
  readonly matches: readonly Match[]
  /** Whether the consent ledger may have entries for a new contact with one of these identities. */
  readonly areKnown: boolean
  readonly ids: readonly number[]
}

export type LockedWork<T> = (tx: Db, locked: Locked, commit: Commit) => Promise<T>

type LockOptions = {
  lane?: BatchLane
  /** Number of ids to allocate in the first round trip of a small write, before its matches are known. */
  ids?: number
  /** With a signal, the work waits until aborted; without one, 20 seconds. */
  signal?: AbortSignal
}

/**
 * Runs work in a transaction holding the identity locks, shared with sends and inbound messages, and the row locks of
 * all matching contacts.
 *
 * Calls in this process wait in front of the pool. If another process holds a lock, the transaction rolls back and
 * retries after a pause, so waiting takes no connection and cannot deadlock. The first statements are pipelined with
 * `begin`; work can await `commit` together with its last statements, so that a small write takes two round trips.
 * Otherwise the transaction commits when the work returns.
 * @throws 503 if the locks are taken for 20 seconds
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

/** Returns a randomized pause, so that competing attempts do not collide again. */
export const pauseMs = (waitMs: number, attemptMs: number, random = Math.random()): number =>
  Math.min(Math.max(waitMs, PAUSES_TO_ATTEMPT * attemptMs), LONGEST_PAUSE_MS) * (0.5 + random)

/** Tries once; returns undefined without changes if another process holds a lock. */
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
    // Pipelined; harmless without a transaction. Each statement gets its own snapshot, after the locks. A send by user id
    // may give the customer a contact in between: matches must be read last, else neither read would show it.
    const identities = allIdentitiesOf(named)
    const [isLocked, { areKnown, detached }, matches, newIds] = await Promise.all([
      tryLockContacts(tx, companyId, identities, large),
      readKnown(tx, companyId, identities),
      readMatches(tx, companyId, named),
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

/** A stored contact must be attached before the matches are read, one created by the work afterwards. */
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

function queueKeysOf(named: readonly Named[], lane: BatchLane): string[] {
  const identities = allIdentitiesOf(named)
  if (isLarge(named)) return [...identities, lane]
  return [...identities, ...named.flatMap(({ id }) => (id === undefined ? [] : [`id:${id}`]))]
}

const tooBusy = () => serviceUnavailable('These contacts are being changed by too many requests at once: try again')

const isBusy = (error: unknown): boolean =>
  error instanceof Busy || isContention(error) || sqlState(error) === LOCK_NOT_AVAILABLE

/**
 * Attaches customers with a deleted contact to the person's stored contact (docs/conversations.md). Returns false
 * without waiting, and changes nothing, if another transaction has locked a customer.
 */
async function attachCustomers(tx: Db, companyId: number, identities: readonly string[]): Promise<boolean> {
  const keys = [...new Set(identities)].map((identity) => ({ companyId, identity }))
  if (keys.length === 0) return true
  const locked = await tryLockCustomers(tx, keys)
  if (locked.length < keys.length) return false
  const people = toPeople(locked, { holders: [], persons: await readPersons(tx, keys) }).get(companyId)
  const attached = [...(people?.customers.values() ?? [])].filter(
    (customer) => people !== undefined && attachStored(people, customer),
  )
  if (attached.length === 0) return true
  await updateCustomers(
    tx,
    attached.map(({ id, contactId, phone }) => ({ companyId, id, contactId, phone })),
  )
  await refreshContacts(
    tx,
    attached.map(({ contactId }) => ({ companyId, contactId })),
    { waits: false },
  )
  return true
}

/** Maximum running and waiting calls per company and process. */
const WORK_MAX = 500

type Queue = { readonly ends: Map<string, Promise<void>>; count: number }

const queues = new WeakMap<Pool, Map<number, Queue>>()

/**
 * Runs work after earlier work with a shared key, without holding a connection.
 * @throws 503 if 500 calls of the company are running or waiting
 */
export async function runExclusive<T>(
  pool: Pool,
  companyId: number,
  keys: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const queue = queueOf(pool, companyId)
  if (queue.count >= WORK_MAX) throw serviceUnavailable('Too many writes of contacts wait: try again soon')
  queue.count += 1
  const place = joinQueue(queue, keys)
  try {
    await place.earlier
    return await work()
  } finally {
    place.leave()
    queue.count -= 1
    if (queue.count === 0) queues.get(pool)?.delete(companyId)
  }
}

export function isFree(pool: Pool, companyId: number, keys: readonly string[]): boolean {
  const ends = queues.get(pool)?.get(companyId)?.ends
  return ends === undefined || !keys.some((key) => ends.has(key))
}

function queueOf(pool: Pool, companyId: number): Queue {
  const ofPool = queues.get(pool) ?? new Map<number, Queue>()
  queues.set(pool, ofPool)
  const queue = ofPool.get(companyId) ?? { ends: new Map(), count: 0 }
  ofPool.set(companyId, queue)
  return queue
}

/** Takes all keys at once to prevent deadlocks. */
function joinQueue({ ends }: Queue, keys: readonly string[]): { earlier: Promise<unknown>; leave: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const earlier = Promise.all(keys.map((key) => ends.get(key)))
  for (const key of keys) ends.set(key, promise)
  return {
    earlier,
    leave: () => {
      for (const key of keys) if (ends.get(key) === promise) ends.delete(key)
      resolve()
    },
  }
}
