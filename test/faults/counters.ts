import type { Acknowledged, Arrived, Delivered, Evidence, Keyed, Stored } from './evidence.ts'

export const COUNTERS = [
  'messages lost',
  'messages doubled',
  'messages kept as failed',
  'messages of the wrong person',
  'messages out of order',
  'messages that were not posted',
  'messages with another text',
  'deliveries neither answered 2xx nor dead',
  'deliveries of the wrong person',
  'deliveries to a foreign registration',
  'deliveries of messages that were not posted',
  'deliveries with another text',
  'deliveries repeated too often',
  'dead deliveries beyond the bound',
  'sends lost',
  'sends doubled',
  'sends to the wrong person',
  'scheduled messages lost',
  'scheduled messages doubled',
  'mails lost',
  'mails doubled',
  'mails to the wrong person',
  'keys with two effects',
  'keyed requests without an outcome',
  'unknown sends beyond the bound',
  'unknown scheduled messages beyond the bound',
  'failed mails beyond the bound',
  'promotions with a gap beyond the bound',
  'writes accepted by a fenced leader',
  'processes that crashed by themselves',
] as const

/** A delivery whose answer was lost with its worker or its connection is made again; more often than this is a fault. */
const MOST_TIMES = 3

export type Counter = (typeof COUNTERS)[number]
export type Counts = Record<Counter, number>

/** The faults of a run, by kind; all zero when the promises of docs/reliability.md held. */
export function count(evidence: Evidence): Counts {
  const {
    acknowledged,
    posted,
    stored,
    delivered,
    sends,
    scheduled,
    unknownScheduled,
    phones,
    mails,
    mailboxes,
    bounds,
  } = evidence
  const byWamid = new Map(acknowledged.map((one) => [one.wamid, one]))
  const later = new Set(scheduled.map(({ text }) => text))
  const keyed = [...sends, ...scheduled, ...mails]
  return {
    'messages lost': countLost(acknowledged, stored),
    'messages doubled': stored.length - new Set(stored.map(({ wamid }) => wamid)).size,
    'messages kept as failed': acknowledged.filter(({ wamid }) => evidence.failed.has(wamid)).length,
    'messages of the wrong person': stored.filter((one) => isOthers(one, byWamid.get(one.wamid))).length,
    'messages out of order': countOutOfOrder(acknowledged, stored),
    'messages that were not posted': stored.filter(({ wamid }) => !wasPosted(posted, wamid)).length,
    'messages with another text': stored.filter(({ wamid, text }) => isOther(text, byWamid.get(wamid)?.text)).length,
    'deliveries neither answered 2xx nor dead': countUndelivered(evidence),
    'deliveries of the wrong person': delivered.filter((one) => namesOther(one, byWamid.get(one.wamid))).length,
    'deliveries to a foreign registration': countForeign(evidence, byWamid),
    'deliveries of messages that were not posted': delivered.filter(({ wamid }) => !wasPosted(posted, wamid)).length,
    'deliveries with another text': delivered.filter((one) => hasOtherText(one, byWamid.get(one.wamid))).length,
    'deliveries repeated too often': countRepeated(delivered),
    'dead deliveries beyond the bound': beyond(delivered.filter(({ body }) => body === null).length, bounds.dead),
    'sends lost': countMissing(sends, phones, new Set()),
    'sends doubled': countDoubled(phones.filter(({ text }) => !later.has(text))),
    'sends to the wrong person': countStrayed([...sends, ...scheduled], phones),
    'scheduled messages lost': countMissing(scheduled, phones, unknownScheduled),
    'scheduled messages doubled': countDoubled(phones.filter(({ text }) => later.has(text))),
    'mails lost': countMissing(mails, mailboxes, evidence.unknownMails),
    'mails doubled': countDoubled(mailboxes),
    'mails to the wrong person': countStrayed(mails, mailboxes),
    'keys with two effects': keyed.filter(({ ids }) => new Set(ids).size > 1).length,
    'keyed requests without an outcome': keyed.filter(({ outcome }) => outcome === 'unanswered').length,
    'unknown sends beyond the bound': beyond(
      sends.filter(({ outcome }) => outcome === 'unknown').length,
      bounds.unknownSends,
    ),
    'unknown scheduled messages beyond the bound': beyond(unknownScheduled.size, bounds.unknownScheduled),
    'failed mails beyond the bound': beyond(evidence.unknownMails.size, bounds.failedMails),
    'promotions with a gap beyond the bound': evidence.gapsMs.filter((gapMs) => gapMs > bounds.gapMs).length,
    'writes accepted by a fenced leader': evidence.lostWrites,
    'processes that crashed by themselves': evidence.crashes.length,
  }
}

export const total = (counts: Counts): number => Object.values(counts).reduce((sum, one) => sum + one, 0)

function countLost(acknowledged: readonly Acknowledged[], stored: readonly Stored[]): number {
  const kept = new Set(stored.map(({ wamid }) => wamid))
  return acknowledged.filter(({ wamid }) => !kept.has(wamid)).length
}

const isOthers = (one: Stored, expected: Acknowledged | undefined): boolean =>
  expected !== undefined && (expected.customer !== one.customer || expected.phoneNumberId !== one.phoneNumberId)

const beyond = (count: number, bound: number): number => Math.max(0, count - bound)

/** An item without an id gets one that the service derives from its content, and that no caller knows. */
const DERIVED_ID = 'sha256.'
const wasPosted = (posted: Set<string>, wamid: string): boolean => posted.has(wamid) || wamid.startsWith(DERIVED_ID)

const isOther = (text: string | null, posted: string | undefined): boolean => posted !== undefined && text !== posted

/** Deliveries to a registration of another number than the one that the customer wrote to. */
const countForeign = ({ delivered, registrations }: Evidence, byWamid: ReadonlyMap<string, Acknowledged>): number =>
  delivered.filter(({ registrationId, wamid }) => {
    const expected = byWamid.get(wamid)
    return expected !== undefined && !registrations.get(expected.phoneNumberId)?.includes(registrationId)
  }).length

function hasOtherText({ body }: Delivered, expected: Acknowledged | undefined): boolean {
  if (body === null || expected === undefined) return false
  const envelope: { message?: { text?: string | null } } = JSON.parse(body)
  return envelope.message?.text !== expected.text
}

/** Deliveries, by registration and message, that their receiver answered with 2xx too often. */
function countRepeated(delivered: readonly Delivered[]): number {
  const answered = delivered.filter(({ body }) => body !== null)
  const times = Map.groupBy(answered, ({ registrationId, wamid }) => `${registrationId} ${wamid}`)
  return [...times.values()].filter(({ length }) => length > MOST_TIMES).length
}

/** Messages that stand behind one that was acknowledged before they were posted, by conversation. */
function countOutOfOrder(acknowledged: readonly Acknowledged[], stored: readonly Stored[]): number {
  const placeOf = new Map(acknowledged.map(({ wamid }, place) => [wamid, place]))
  const conversations = Map.groupBy(stored, ({ conversationId }) => conversationId)
  let wrong = 0
  for (const messages of conversations.values()) {
    const places = messages.toSorted((a, b) => a.seq - b.seq).flatMap(({ wamid }) => placeOf.get(wamid) ?? [])
    wrong += places.filter((place, index) => index > 0 && place < (places[index - 1] ?? 0)).length
  }
  return wrong
}

function countUndelivered({ acknowledged, registrations, delivered }: Evidence): number {
  const done = new Set(delivered.map(({ registrationId, wamid }) => `${registrationId} ${wamid}`))
  return acknowledged.reduce((sum, { wamid, phoneNumberId }) => {
    const subscribed = registrations.get(phoneNumberId) ?? []
    return sum + subscribed.filter((registrationId) => !done.has(`${registrationId} ${wamid}`)).length
  }, 0)
}

const namesOther = ({ body }: Delivered, expected: Acknowledged | undefined): boolean =>
  body !== null && expected !== undefined && !body.includes(expected.customer)

/** Acknowledged, and neither arrived nor reported as unknown. */
function countMissing(asked: readonly Keyed[], arrived: readonly Arrived[], unknown: ReadonlySet<string>): number {
  const texts = new Set(arrived.map(({ text }) => text))
  return asked.filter(({ text, outcome }) => outcome === 'acknowledged' && !texts.has(text) && !unknown.has(text))
    .length
}

const countDoubled = (arrived: readonly Arrived[]): number =>
  arrived.length - new Set(arrived.map(({ text }) => text)).size

function countStrayed(asked: readonly Keyed[], arrived: readonly Arrived[]): number {
  const recipients = new Map(asked.map(({ text, recipient }) => [text, recipient]))
  return arrived.filter(({ text, recipient }) => recipients.get(text) !== recipient).length
}
