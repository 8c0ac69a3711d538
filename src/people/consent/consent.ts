import type { Channel } from '../contact-record.ts'

/** A ledger entry: an opt-in (`value` true) or opt-out for marketing on one channel. */
export type ConsentEntry = {
  readonly id: number
  readonly channel: Channel
  /** Phone identity, user id, or `mailto:` and the address in lower case; null if the person had none. */
  readonly identity: string | null
  readonly contactId: number | null
  readonly value: boolean
  readonly saidAt: Date
  readonly source: string
  readonly repeats?: number | null
}

export type ConsentPerson = {
  /** Null, or the time from which the identity has been another person's. */
  readonly identities: ReadonlyMap<string, Date | null>
  readonly contactIds: ReadonlySet<number>
}

/**
 * Returns the current entry of a person on a channel, or undefined if there is none.
 *
 * The latest entry under the person's identities counts, on WhatsApp under all of them together. For a number now used
 * by someone else, only entries from before the change count. Entries from the person's contacts under another number,
 * or under none, count too, but can never end an opt-out under a current identity. Entries about another email address
 * are ignored.
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

/** Returns the latest entry; the higher id wins a tie. */
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

/** Source of opt-outs that outlive an erased person. */
export const ERASURE = 'erasure'

const ADDRESS = 'mailto:'

export const addressIn = (identity: string): string | undefined =>
  identity.startsWith(ADDRESS) ? identity.slice(ADDRESS.length) : undefined

export const addressIdentity = (emailKey: string): string => `${ADDRESS}${emailKey}`
