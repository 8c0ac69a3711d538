import { WINDOW_MS } from '../../conversations/window.ts'
import type { KeyedRequest } from '../../http/idempotency/idempotency-store.ts'

export type Send = {
  companyId: number
  senderId: number
  identity: string
  /** Digits as written; null for a user id. */
  phone: string | null
  /** WhatsApp business account that scopes user ids. */
  account: string
  /** Replies only; null: the conversation between sender and customer. */
  conversationId: number | null
  contactSource: string
  sourceType: string
  needsWindow: boolean
  needsConsent: boolean
  /** Customers per 24 hours outside an open window; null: unlimited. */
  dailyLimit: number | null
  /** The provider's portfolio if known, else the sender. */
  limitScope: string
  /** Between the sender's messages; null: unthrottled, also per customer. */
  slotSeconds: number | null
  type: string
  template: { name: string; category: string } | null
  text: string | null
  media: { uploadId?: string } | null
  content: object | null
  quotedWamid: string | null
  senderName: string
  /** Reserved with the message. */
  key: KeyedRequest | null
  scheduledId: number | null
}

/** Facts read behind locks. Equal keys share the conversation, person, sender or limit. */
export type SendFacts = {
  /** The key is taken, or the scheduled message no longer waits. */
  isTaken: boolean
  /** Only one send per key can have the Idempotency-Key; null: no key. */
  requestKey: string | null
  /** False: another transaction holds the customer lock. */
  isLocked: boolean
  /** Replies only: the recipient is now another conversation's customer. */
  isElsewhere: boolean
  conversationKey: string
  /** Two of a portfolio's numbers can write to one person. */
  personKey: string
  senderKey: string
  limitKey: string
  /** Latest WhatsApp marketing consent over all identities; null: none stated. */
  consent: boolean | null
  lastInboundAt: Date | null
  nextMessageMs: number | null
  nextSlotMs: number | null
  /** Places in use, whether this customer has one, and when the next is free. */
  limit: { used: number; isCounted: boolean; freeAt: Date | null }
}

export type SendDecision =
  | { refusal: 'key' | 'busy' | 'moved' | 'consent' }
  | { refusal: 'window'; lastInboundAt: Date | null }
  | { refusal: 'throttle'; waitSeconds: number }
  | { refusal: 'limit'; retryAt: Date }
  | { refusal: null; waitSeconds: number; nextMessageMs: number; nextSlotMs: number | null; takesPlace: boolean }

export type ThrottleLimits = {
  pairBurst: number
  pairSeconds: number
  longestWaitSeconds: number
}

/** Windows and daily limits use the service clock; slots use the database clock, in fractional ms since 1970. */
export type Now = { at: Date; slotsMs: number }

/**
 * Decides sends in order; the only place where consent, window, throttle and daily limit refuse (decisions: WhatsApp
 * send, Consent, ThrottleLimits). Later sends see slots and places taken by earlier ones; refused sends take none.
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

/** A slot further ahead than sends ever wait must come from a clock set back since, so is free now. */
const timeOfSlot = (nextMs: number | null, furthestSeconds: number, { slotsMs }: Now): number =>
  nextMs === null || nextMs > slotsMs + furthestSeconds * 1000 ? slotsMs : Math.max(nextMs, slotsMs)

const isWindowOpen = (lastInboundAt: Date | null, at: Date): boolean =>
  lastInboundAt !== null && at.getTime() - lastInboundAt.getTime() < WINDOW_MS

/** Returns the longer of the sender's wait and the customer's wait after a burst, in seconds. */
const waitFor = (pairMs: number, slotMs: number, { pairSeconds, pairBurst }: ThrottleLimits): number =>
  Math.max(0, pairMs / 1000 - pairSeconds * (pairBurst - 1), slotMs / 1000)
