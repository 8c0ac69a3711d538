import { WINDOW_MS } from '../../conversations/window.ts'
import type { KeyedRequest } from '../../http/idempotency/idempotency-store.ts'

/** One send, before the provider is called. */
export type Send = {
  companyId: number
  senderId: number
  /** The identity that the request names. */
  identity: string
  /** Its digits as written; null when the recipient is a user id. */
  phone: string | null
  /** The sender's WhatsApp business account, which gives user ids their meaning. */
  account: string
  /** Of a reply: the conversation that it belongs to; null: the one of sender and customer. */
  conversationId: number | null
  contactSource: string
  sourceType: string
  /** Whether an open 24-hour window is needed. */
  needsWindow: boolean
  /** Whether it is marketing, which an opt-out refuses. */
  needsConsent: boolean
  /** Customers who may be written to outside an open window within 24 hours; null: no limit. */
  dailyLimit: number | null
  /** Whose limit that is: the provider's portfolio where it is known, else the sender. */
  limitScope: string
  /** Seconds between two messages of the sender; null: no throttle, neither of the sender nor per customer. */
  slotSeconds: number | null
  type: string
  /** Its name, and its category at the provider; null: plain text or media. */
  template: { name: string; category: string } | null
  text: string | null
  /** `uploadId`: the uploaded file that it carries. */
  media: { uploadId?: string } | null
  content: object | null
  /** Of the message that it answers; null: none. */
  quotedWamid: string | null
  senderName: string
  /** The Idempotency-Key of its request, which it reserves with its message. */
  key: KeyedRequest | null
  /** The scheduled message that it sends; null: a request sends. */
  scheduledId: number | null
}

/** Facts about a send, read behind locks. Sends with equal keys concern the same conversation, person, sender or limit. */
export type SendFacts = {
  /** Whether another request has its Idempotency-Key, or its scheduled message does not wait any more. */
  isTaken: boolean
  /** Equal for requests of which only one may have the key; null: the send has none. */
  requestKey: string | null
  /** False: another transaction holds the lock of its customer. */
  isLocked: boolean
  /** Of a reply: its recipient is the customer of another conversation by now. */
  isElsewhere: boolean
  conversationKey: string
  /** Two numbers of a portfolio may write to one person. */
  personKey: string
  senderKey: string
  limitKey: string
  /** The last statement of the person about marketing on WhatsApp, over all identities; null: there is none. */
  consent: boolean | null
  /** When the customer last wrote in this conversation. */
  lastInboundAt: Date | null
  /** When the next message to the customer is on time. */
  nextMessageMs: number | null
  /** When the sender's next message is on time. */
  nextSlotMs: number | null
  /** Places of the daily limit in use, whether the customer has one, and when the next one is free. */
  limit: { used: number; isCounted: boolean; freeAt: Date | null }
}

export type SendDecision =
  | { refusal: 'key' | 'busy' | 'moved' | 'consent' }
  | { refusal: 'window'; lastInboundAt: Date | null }
  | { refusal: 'throttle'; waitSeconds: number }
  | { refusal: 'limit'; retryAt: Date }
  | { refusal: null; waitSeconds: number; nextMessageMs: number; nextSlotMs: number | null; takesPlace: boolean }

export type ThrottleLimits = {
  /** Messages that one customer may get at once. */
  pairBurst: number
  /** Seconds between two messages to one customer after the burst. */
  pairSeconds: number
  /** A send waits at most this long for its slot. */
  longestWaitSeconds: number
}

/**
 * The clock of the service decides about windows and the daily limit; slots are in milliseconds since 1970, with fractions, by
 * the clock of the database.
 */
export type Now = { at: Date; slotsMs: number }

/**
 * Decides for each send whether it may go out, in the order in which they came: the only place where consent, window,
 * throttle and daily limit refuse one (decisions: WhatsApp send, Consent, ThrottleLimits). A send sees the slots and
 * places that earlier ones took; a refused one takes none.
 */
export function decideSends(
  sends: readonly Send[],
  facts: readonly SendFacts[],
  limits: ThrottleLimits,
  now: Now,
): SendDecision[] {
  const taken: Taken = {
    requestKeys: new Set(),
    nextMessageMs: new Map(),
    nextSlotMs: new Map(),
    places: new Map(),
    counted: new Set(),
  }
  return sends.map((send, index) => {
    const own = facts[index]
    return own === undefined ? { refusal: 'busy' } : decide(send, own, limits, now, taken)
  })
}

/** What earlier sends of the batch took, by the keys of their facts. */
type Taken = {
  requestKeys: Set<string>
  nextMessageMs: Map<string, number>
  nextSlotMs: Map<string, number>
  places: Map<string, number>
  counted: Set<string>
}

function decide(send: Send, facts: SendFacts, limits: ThrottleLimits, now: Now, taken: Taken): SendDecision {
  const { requestKey } = facts
  if (facts.isTaken || (requestKey !== null && taken.requestKeys.has(requestKey))) return { refusal: 'key' }
  if (!facts.isLocked) return { refusal: 'busy' }
  if (facts.isElsewhere) return { refusal: 'moved' }
  if (send.needsConsent && facts.consent === false) return { refusal: 'consent' }
  const isOpen = isWindowOpen(facts.lastInboundAt, now.at)
  if (send.needsWindow && !isOpen) return { refusal: 'window', lastInboundAt: facts.lastInboundAt }

  const { pairSeconds, pairBurst, longestWaitSeconds } = limits
  const nextMessage = taken.nextMessageMs.get(facts.conversationKey) ?? facts.nextMessageMs
  const messageMs = timeOfSlot(nextMessage, longestWaitSeconds + pairSeconds * pairBurst, now)
  const nextSlot = taken.nextSlotMs.get(facts.senderKey) ?? facts.nextSlotMs
  const slotMs = timeOfSlot(nextSlot, longestWaitSeconds + (send.slotSeconds ?? 0), now)
  const waitSeconds = send.slotSeconds === null ? 0 : waitFor(messageMs - now.slotsMs, slotMs - now.slotsMs, limits)
  if (waitSeconds > limits.longestWaitSeconds) return { refusal: 'throttle', waitSeconds }

  const places = taken.places.get(facts.limitKey) ?? 0
  const place = `${facts.limitKey} ${facts.personKey}`
  const takesPlace = send.dailyLimit !== null && !isOpen && !facts.limit.isCounted && !taken.counted.has(place)
  if (takesPlace && facts.limit.used + places >= (send.dailyLimit ?? 0)) {
    return { refusal: 'limit', retryAt: facts.limit.freeAt ?? new Date(now.at.getTime() + WINDOW_MS) }
  }

  if (takesPlace) {
    taken.places.set(facts.limitKey, places + 1)
    taken.counted.add(place)
  }
  if (requestKey !== null) taken.requestKeys.add(requestKey)
  const nextMessageMs = messageMs + limits.pairSeconds * 1000
  const nextSlotMs = send.slotSeconds === null ? null : slotMs + send.slotSeconds * 1000
  taken.nextMessageMs.set(facts.conversationKey, nextMessageMs)
  if (nextSlotMs !== null) taken.nextSlotMs.set(facts.senderKey, nextSlotMs)
  return { refusal: null, waitSeconds, nextMessageMs, nextSlotMs, takesPlace }
}

/** The time of the next slot. One that is further ahead than sends wait is from a clock that has gone back since: it is free now. */
const timeOfSlot = (nextMs: number | null, furthestSeconds: number, { slotsMs }: Now): number =>
  nextMs === null || nextMs > slotsMs + furthestSeconds * 1000 ? slotsMs : Math.max(nextMs, slotsMs)

/** Strictly less than 24 hours after the customer's last message. */
const isWindowOpen = (lastInboundAt: Date | null, at: Date): boolean =>
  lastInboundAt !== null && at.getTime() - lastInboundAt.getTime() < WINDOW_MS

/** The longer wait, in seconds: the sender's, or the one of a customer, who gets a burst at once. */
const waitFor = (pairMs: number, slotMs: number, { pairSeconds, pairBurst }: ThrottleLimits): number =>
  Math.max(0, pairMs / 1000 - pairSeconds * (pairBurst - 1), slotMs / 1000)
