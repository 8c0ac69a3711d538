import { findKnownWamids } from '../../../conversations/recording/inbound-store.ts'
import type { Db } from '../../../db/connect.ts'
import {
  type IdentityKey,
  type LockedIdentity,
  listErased,
  listErasing,
  takeIds,
} from '../../../people/customer-store.ts'
import { isPhone } from '../../../people/people.ts'
import { type PeopleRows, readHolders, readPersons } from '../../../people/people-store.ts'
import { phoneIdentity } from '../../../platform/text/phone.ts'
import { type InboundEntry, type InboundRecord, isInboundRecord, recordKey } from './decide-inbound.ts'

/** Reads a batch's facts in one round trip with the locks, or two if some phone numbers are unknown. */
export async function readInboundFacts(
  tx: Db,
  entries: readonly InboundEntry[],
  locking: Promise<readonly LockedIdentity[]>,
) {
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

export type InboundFactRows = Awaited<ReturnType<typeof readInboundFacts>>

const toNewNumber = (entry: InboundEntry): IdentityKey[] =>
  entry.kind === 'number-change' ? [{ companyId: entry.companyId, identity: phoneIdentity(entry.change.to) }] : []

/** Returns the identities in a batch. */
export function identityKeys(entries: readonly InboundEntry[]): IdentityKey[] {
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
