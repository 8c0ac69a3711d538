import type { RecordEvents } from '../../../changes/record-change.ts'
import { findKnownWamids } from '../../../conversations/message-store.ts'
import type { Db, Pool } from '../../../db/connect.ts'
import { ContentionError } from '../../../db/pool/failure.ts'
import {
  findUnlinked,
  type IdentityKey,
  type LockedIdentity,
  listErased,
  listErasing,
  lockCustomers,
  takeIds,
  tryLockCustomers,
} from '../../../people/customer-store.ts'
import type { RecipientReport } from '../../../people/identify.ts'
import { isPhone } from '../../../people/people.ts'
import { type PeopleRows, readHolders, readPersons, toPeople } from '../../../people/people-store.ts'
import { phoneIdentity } from '../../../platform/text/phone.ts'
import { decideInbound, type InboundEntry, type InboundRecord, isInboundRecord, recordKey } from './decide-inbound.ts'
import { type RecordedBatch, toContactChanges, writeInbound } from './write-inbound.ts'

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
    return { recorded: [], movedCompanies: [], createdContacts: [], changedContacts: [], identifiedContacts: [] }
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

/** Reads a batch's facts in one round trip with the locks, or two if some phone numbers are unknown. */
async function readInboundFacts(tx: Db, entries: readonly InboundEntry[], locking: Promise<readonly LockedIdentity[]>) {
  const wamids = entries.flatMap((entry) =>
    entry.wamid === null
      ? []
      : [{ companyId: entry.companyId, wamid: entry.wamid, isReaction: entry.kind === 'reaction' }],
  )
  const messages = entries.filter(({ kind }) => kind === 'message' || kind === 'echo').length
  const [locked, persons, knownWamids, ids, erasing] = await Promise.all([
    locking,
    readPersons(tx, identityKeys(entries)),
    findKnownWamids(tx, wamids),
    takeIds(tx, { customers: 0, contacts: 0, conversations: 0, messages }),
    listErasing(tx, [...new Set(entries.map(({ companyId }) => companyId))]),
  ])
  const unknown = locked.filter(({ identity, customerId }) => customerId === null && isPhone(identity))
  const rows: PeopleRows = { persons, holders: await readHolders(tx, [...unknown, ...entries.flatMap(toNewNumber)]) }
  const recorded = new Set<string>()
  const changed = new Set<string>()
  for (const { isRecorded, isChanged, isReaction, ...named } of knownWamids) {
    const key = recordKey({ ...named, kind: isReaction ? 'reaction' : 'message' })
    if (key === undefined) continue
    if (isRecorded) recorded.add(key)
    if (isChanged) changed.add(key)
  }
  for (const entry of await findErased(tx, entries, erasing)) {
    const key = recordKey(entry)
    if (key !== undefined) recorded.add(key)
  }
  return { locked, rows, recorded, changed, messageIds: ids.messages }
}

/** Returns records to treat as known: erased messages, and persons erased after the event arrived. */
async function findErased(
  tx: Db,
  entries: readonly InboundEntry[],
  erasing: readonly number[],
): Promise<InboundRecord[]> {
  const records = entries.filter(isInboundRecord).filter(({ companyId }) => erasing.includes(companyId))
  if (records.length === 0) return []
  const subjects = records.map(({ companyId, wamid, phone, userId, arrivedAt }) => ({
    ...{ companyId, wamids: [wamid], identities: named([phone], [userId]), arrivedAt },
  }))
  const areErased = await listErased(tx, subjects)
  return records.filter((_, place) => areErased[place])
}

const toNewNumber = (entry: InboundEntry): IdentityKey[] =>
  entry.kind === 'number-change' ? [{ companyId: entry.companyId, identity: phoneIdentity(entry.change.to) }] : []

/** Returns the identities in a batch. */
function identityKeys(entries: readonly InboundEntry[]): IdentityKey[] {
  const keys = new Map<string, IdentityKey>()
  for (const entry of entries) {
    for (const identity of isInboundRecord(entry) ? namesOf(entry) : reportedBy(entry)) {
      keys.set(`${entry.companyId} ${identity}`, { companyId: entry.companyId, identity })
    }
  }
  return [...keys.values()]
}

/** Returns the author in a group, where the conversation belongs to the group. */
export const groupWritersOf = (entry: InboundEntry): IdentityKey[] =>
  isInboundRecord(entry) && entry.groupId !== null
    ? named([entry.phone], [entry.userId]).map((identity) => ({ companyId: entry.companyId, identity }))
    : []

function namesOf({ phone, userId, groupId }: InboundRecord): string[] {
  return groupId === null ? named([phone], [userId]) : [`#${groupId}`]
}

function reportedBy(entry: Exclude<InboundEntry, InboundRecord>): string[] {
  if ('report' in entry) {
    const { phone, userId, requestedIdentity } = entry.report
    return named([phone], [userId, requestedIdentity])
  }
  if (entry.kind === 'introduction') return named([entry.customer.phone], [entry.customer.userId])
  const { userId, previousUserIds } = entry.change
  const phones = entry.kind === 'number-change' ? [entry.change.from, entry.change.to] : [entry.change.phone]
  return named(phones, [userId, ...previousUserIds])
}

const named = (phones: readonly (string | null)[], identities: readonly (string | null)[]): string[] => [
  ...phones.flatMap((phone) => (phone === null ? [] : [phoneIdentity(phone)])),
  ...identities.filter((identity) => identity !== null),
]

type Answer = RecipientReport & { readonly companyId: number; readonly requestedIdentity: string }

/** Links recipient identities from send responses. Reads without locks first, because most are linked already. */
export async function recordAnswers(
  { db, recordEvents }: { db: Pool; recordEvents: RecordEvents },
  answers: readonly Answer[],
  sourceType: string,
  at: Date,
): Promise<void> {
  if (answers.length === 0) return
  const news = await findUnlinked(db, answers)
  if (news.length === 0) return
  const entries = news.map(({ companyId, ...report }) => ({ kind: 'answer', companyId, wamid: null, report }) as const)
  await db.begin(async (tx) => {
    await recordEvents.publish(tx, toContactChanges(await recordInbound(tx, entries, { sourceType, at })))
  })
}
