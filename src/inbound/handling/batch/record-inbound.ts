import type { Db } from '../../../db/connect.ts'
import { ContentionError } from '../../../db/pool/failure.ts'
import {
  type IdentityKey,
  type LockedIdentity,
  lockCustomers,
  tryLockCustomers,
} from '../../../people/customer-store.ts'
import { toPeople } from '../../../people/people-store.ts'
import { decideInbound, type InboundEntry } from './decide-inbound.ts'
import { identityKeys, readInboundFacts } from './inbound-facts.ts'
import { type RecordedBatch, writeInbound } from './write-inbound.ts'

/** Records messages and identity reports. Locks `writers` too, so that no erasure can start meanwhile. */
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

/** Throws if an identity moves meanwhile, which would leave its new customer unlocked. */
async function lock(tx: Db, keys: readonly IdentityKey[]): Promise<LockedIdentity[]> {
  if (keys.length === 0) return []
  const locked = await lockCustomers(tx, keys)
  if (locked.length < keys.length) throw new ContentionError('a customer identity changed concurrently')
  return locked
}

/** Must not wait: the transaction holds locks with a later position in the lock order. */
async function lockMore(tx: Db, keys: readonly IdentityKey[]): Promise<void> {
  const locked = await tryLockCustomers(tx, keys)
  if (locked.length < keys.length)
    throw new ContentionError('another transaction holds the former number of a customer')
}
