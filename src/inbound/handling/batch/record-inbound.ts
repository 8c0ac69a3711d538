import type { Db } from '../../../db/connect.ts'
import { ContentionError } from '../../../db/pool/failure.ts'
import {
  type IdentityKey,
  type LockedIdentity,
  lockCustomers,
  tryLockCustomers,
} from '../../../people/customer-lock-store.ts'
import { toPeople } from '../../../people/people-store.ts'
import { decideInbound, type InboundEntry } from './decide-inbound.ts'
import { identityKeys, readInboundFacts } from './inbound-facts.ts'
import { type RecordedBatch, writeInbound } from './write-inbound.ts'

/**
 * Records what customers, and the business in its phone app, wrote, and what the provider reports of who they are: facts are
 * read behind locks, `decideInbound` decides about all entries in their order, and the rest is written. `sourceType`: of the
 * contacts that it creates. `writers`: further identities to lock, so that no erasure of them starts before the batch has ended.
 */
export async function recordInbound(
  tx: Db,
  entries: readonly InboundEntry[],
  { sourceType, at, writers = [] }: { sourceType: string; at: Date; writers?: readonly IdentityKey[] },
): Promise<RecordedBatch> {
  const keys = identityKeys(entries)
  const named = new Set(keys.map(textOf))
  const others = new Map(writers.map((key) => [textOf(key), key] as const).filter(([text]) => !named.has(text)))
  const lockingAll = lock(tx, [...keys, ...others.values()])
  if (entries.length === 0) {
    await lockingAll
    return { recorded: [], movedCompanies: [], changedContacts: [], identifiedContacts: [] }
  }
  const locking = lockingAll.then((locked) => locked.filter((key) => named.has(textOf(key))))
  const more = new Map<string, IdentityKey>()
  for (;;) {
    const facts = await readInboundFacts(tx, entries, locking)
    const people = toPeople([...facts.locked, ...more.values()], facts.rows)
    const decisions = decideInbound(entries, { people, recorded: facts.recorded })
    const missing = [...people].flatMap(([companyId, { unlocked }]) =>
      [...unlocked].map((identity): IdentityKey => ({ companyId, identity })),
    )
    if (missing.length === 0) return writeInbound(tx, { people, ...decisions }, facts, { sourceType, at })
    await lockMore(tx, missing)
    for (const key of missing) more.set(textOf(key), key)
  }
}

const textOf = ({ companyId, identity }: IdentityKey): string => `${companyId} ${identity}`

/** Locks the identities and their customers. One that moves in between leaves a customer that is not locked. */
async function lock(tx: Db, keys: readonly IdentityKey[]): Promise<LockedIdentity[]> {
  if (keys.length === 0) return []
  const locked = await lockCustomers(tx, keys)
  if (locked.length < keys.length) throw new ContentionError('a customer got another identity at the same time')
  return locked
}

/** Without waiting: the transaction holds locks that come later in the order. */
async function lockMore(tx: Db, keys: readonly IdentityKey[]): Promise<void> {
  const locked = await tryLockCustomers(tx, keys)
  if (locked.length < keys.length) throw new ContentionError('another transaction has the former number of a customer')
}
