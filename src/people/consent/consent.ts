import type { Channel } from '../members/contact-record.ts'

/** An entry of the ledger: what a person said about marketing on a channel. */
export type ConsentEntry = {
  readonly id: number
  readonly channel: Channel
  /** Identity of a phone, user id, or `mailto:` and the address in lower case; null: the person had none. */
  readonly identity: string | null
  /** The contact through which it was said. */
  readonly contactId: number | null
  /** True: opt-in, false: opt-out. */
  readonly value: boolean
  readonly saidAt: Date
  /** `api`, or the other origin of the entry. */
  readonly source: string
  /** Of an entry in memory: the stored entry whose place it takes. */
  readonly repeats?: number | null
}

/** A person on one channel, as the ledger knows them. */
export type ConsentPerson = {
  /** Each with the time since when it is another person's, if it is. */
  readonly identities: ReadonlyMap<string, Date | null>
  /** The contacts of the person. */
  readonly contactIds: ReadonlySet<number>
}

/**
 * The entry that counts for a person on a channel; undefined: nothing was said.
 *
 * The entry said last counts among those said under the identities of the person, for WhatsApp all of them together. Of a
 * number that went to another person only the entries until then count. Entries of a contact of the person under another number,
 * or under none, count as well, but never end an opt-out under an identity of the person. Entries of a contact about another email
 * address do not count.
 */
export function consentThatCounts(
  channel: Channel,
  person: ConsentPerson,
  entries: readonly ConsentEntry[],
): ConsentEntry | undefined {
  const ofChannel = entries.filter((entry) => entry.channel === channel)
  const own = latestConsent(ofChannel.filter((entry) => isSaidAs(person, entry)))
  const carried = latestConsent(
    ofChannel.filter(({ contactId }) => contactId !== null && person.contactIds.has(contactId)),
  )
  if (carried === undefined || isSaidAs(person, carried) || isOfOtherAddress(carried)) return own
  if (own === undefined) return carried
  return own.value || !carried.value ? latestConsent([own, carried]) : own
}

/** The entry said last; of two said at the same time, the one that was written last. */
export function latestConsent(entries: readonly ConsentEntry[]): ConsentEntry | undefined {
  let latest: ConsentEntry | undefined
  for (const entry of entries) if (latest === undefined || isLater(entry, latest)) latest = entry
  return latest
}

const isLater = (entry: ConsentEntry, than: ConsentEntry): boolean => {
  const ms = entry.saidAt.getTime() - than.saidAt.getTime()
  return ms > 0 || (ms === 0 && entry.id > than.id)
}

function isSaidAs({ identities }: ConsentPerson, { identity, saidAt }: ConsentEntry): boolean {
  const leftAt = identity === null ? undefined : identities.get(identity)
  return leftAt !== undefined && (leftAt === null || saidAt <= leftAt)
}

const isOfOtherAddress = ({ channel, identity }: ConsentEntry): boolean =>
  channel === 'email' && identity !== null && identity.startsWith(ADDRESS)

/** The source of opt-outs that outlive an erased person. */
export const ERASURE = 'erasure'

const ADDRESS = 'mailto:'

/** The address in an identity; undefined: it is no address. */
export const addressIn = (identity: string): string | undefined =>
  identity.startsWith(ADDRESS) ? identity.slice(ADDRESS.length) : undefined

/** The identity of an email address, by its key. */
export const addressIdentity = (emailKey: string): string => `${ADDRESS}${emailKey}`
