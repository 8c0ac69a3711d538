import type { Arrived, Delivered, Evidence, Heard, Keyed, Stored } from './evidence.ts'

export const COUNTERS = [
  'messages lost',
  'messages doubled',
  'messages of the wrong person',
  'messages out of order',
  'deliveries neither answered 2xx nor dead',
  'deliveries of the wrong person',
  'sends lost',
  'sends doubled',
  'sends to the wrong person',
  'mails lost',
  'mails doubled',
  'mails to the wrong person',
  'keys with two effects',
  'keyed requests without an outcome',
  'processes that crashed by themselves',
] as const

export type Counter = (typeof COUNTERS)[number]
export type Counts = Record<Counter, number>

/** The faults of a run, by kind; all zero when the promises of docs/reliability.md held. */
export function count(evidence: Evidence): Counts {
  const { heard, stored, delivered, sends, phones, mails, mailboxes } = evidence
  const known = new Map(heard.map((one) => [one.wamid, one]))
  return {
    'messages lost': countLost(heard, stored),
    'messages doubled': stored.length - new Set(stored.map(({ wamid }) => wamid)).size,
    'messages of the wrong person': stored.filter((one) => isOthers(one, known.get(one.wamid))).length,
    'messages out of order': countOutOfOrder(heard, stored),
    'deliveries neither answered 2xx nor dead': countUndelivered(evidence),
    'deliveries of the wrong person': delivered.filter((one) => namesOther(one, known.get(one.wamid))).length,
    'sends lost': countMissing(sends, phones, new Set()),
    'sends doubled': countDoubled(phones),
    'sends to the wrong person': countStrayed(sends, phones),
    'mails lost': countMissing(mails, mailboxes, evidence.unknownMails),
    'mails doubled': countDoubled(mailboxes),
    'mails to the wrong person': countStrayed(mails, mailboxes),
    'keys with two effects': [...sends, ...mails].filter(({ ids }) => new Set(ids).size > 1).length,
    'keyed requests without an outcome': [...sends, ...mails].filter(({ outcome }) => outcome === 'unanswered').length,
    'processes that crashed by themselves': evidence.crashes.length,
  }
}

export const total = (counts: Counts): number => Object.values(counts).reduce((sum, one) => sum + one, 0)

function countLost(heard: readonly Heard[], stored: readonly Stored[]): number {
  const kept = new Set(stored.map(({ wamid }) => wamid))
  return heard.filter(({ wamid }) => !kept.has(wamid)).length
}

const isOthers = (one: Stored, heard: Heard | undefined): boolean =>
  heard !== undefined && (heard.customer !== one.customer || heard.phoneNumberId !== one.phoneNumberId)

/** Messages that stand behind one that was acknowledged before they were posted, by conversation. */
function countOutOfOrder(heard: readonly Heard[], stored: readonly Stored[]): number {
  const placeOf = new Map(heard.map(({ wamid }, place) => [wamid, place]))
  const conversations = Map.groupBy(stored, ({ conversationId }) => conversationId)
  let wrong = 0
  for (const messages of conversations.values()) {
    const places = messages.toSorted((a, b) => a.seq - b.seq).flatMap(({ wamid }) => placeOf.get(wamid) ?? [])
    wrong += places.filter((place, index) => index > 0 && place < (places[index - 1] ?? 0)).length
  }
  return wrong
}

function countUndelivered({ heard, registrations, delivered }: Evidence): number {
  const done = new Set(delivered.map(({ registrationId, wamid }) => `${registrationId} ${wamid}`))
  return heard.reduce((sum, { wamid, phoneNumberId }) => {
    const wanted = registrations.get(phoneNumberId) ?? []
    return sum + wanted.filter((registrationId) => !done.has(`${registrationId} ${wamid}`)).length
  }, 0)
}

const namesOther = ({ body }: Delivered, heard: Heard | undefined): boolean =>
  body !== null && heard !== undefined && !body.includes(heard.customer)

/** Acknowledged, and neither arrived nor reported as unknown. */
function countMissing(asked: readonly Keyed[], arrived: readonly Arrived[], unknown: ReadonlySet<string>): number {
  const texts = new Set(arrived.map(({ text }) => text))
  return asked.filter(({ text, outcome }) => outcome === 'acknowledged' && !texts.has(text) && !unknown.has(text))
    .length
}

const countDoubled = (arrived: readonly Arrived[]): number =>
  arrived.length - new Set(arrived.map(({ text }) => text)).size

function countStrayed(asked: readonly Keyed[], arrived: readonly Arrived[]): number {
  const wanted = new Map(asked.map(({ text, recipient }) => [text, recipient]))
  return arrived.filter(({ text, recipient }) => wanted.get(text) !== recipient).length
}
