import type { ConversationWrite } from '../../conversations/recording/conversation-write-store.ts'
import { WINDOW_MS } from '../../conversations/window.ts'
import { requestKeyOf } from '../../http/idempotency/idempotency-store.ts'
import type { LockedIdentity } from '../../people/customer-store.ts'
import { contactOf } from '../../people/person-contact.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'
import type { Send } from '../compose-message.ts'
import type { DailyLimitPlace } from './daily-limit-store.ts'
import type { SendRow } from './send-fact-store.ts'

/** Messages per customer at once, as the provider allows. */
export const PAIR_BURST = 45
/** Between a customer's messages after the burst. */
export const PAIR_SECONDS = 6
/** Sends with later slots are refused. */
export const LONGEST_WAIT_SECONDS = 5

export const LIMITS: ThrottleLimits = {
  pairBurst: PAIR_BURST,
  pairSeconds: PAIR_SECONDS,
  longestWaitSeconds: LONGEST_WAIT_SECONDS,
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

export type AcceptedSend = { send: Send; row: SendRow; decision: Extract<SendDecision, { refusal: null }> }

export type SendPlan = {
  contacts: {
    companyId: number
    id: number
    identity: string
    phone: string | null
    source: string
    sourceType: string
    isInLedger: boolean
  }[]
  customers: { companyId: number; id: number; contactId: number; phone: string | null }[]
  identities: { companyId: number; customerId: number; identity: string; account: string | null }[]
  /** Customers whose contact was deleted, with their new contact. */
  attached: { companyId: number; customerId: number; contactId: number; isInLedger: boolean }[]
  conversations: SendConversation[]
  messages: { send: Send; id: number; conversationId: number; seq: number }[]
  slots: { companyId: number; senderId: number; nextSlotMs: number }[]
  places: DailyLimitPlace[]
}

type SendConversation = ConversationWrite & { messages: number }

/** Equal for sends to one person, already a customer or not. */
export const personOf = ({ companyId, identity }: Send, { customerId }: SendRow): string =>
  customerId === null ? `${companyId} ${identity}` : `${companyId} customer ${customerId}`

export function toSendFacts(
  send: Send,
  row: SendRow,
  isTaken: boolean,
  locked: LockedIdentity | undefined,
  consent: boolean | null,
): SendFacts {
  const person = personOf(send, row)
  return {
    isTaken,
    requestKey: send.key === null ? null : requestKeyOf(send.key),
    // Moved meanwhile if the identity leads to another customer.
    isLocked: locked !== undefined && locked.customerId === row.customerId,
    isElsewhere: send.conversationId !== null && send.conversationId !== row.conversationId,
    conversationKey: `${person} ${send.senderId}`,
    personKey: person,
    senderKey: `${send.companyId} ${send.senderId}`,
    limitKey: `${send.companyId} ${send.limitScope}`,
    consent,
    lastInboundAt: row.lastInboundAt,
    nextMessageMs: row.nextMessageMs,
    nextSlotMs: row.nextSlotMs,
    limit: { used: row.used, isCounted: row.isCounted, freeAt: row.freeAt },
  }
}

/** Plans rows for accepted sends; must create a person shared by several sends only once. */
export function planSends(accepted: readonly AcceptedSend[], at: Date): SendPlan {
  const plan: SendPlan = {
    ...{ contacts: [], customers: [], identities: [], attached: [] },
    ...{ conversations: [], messages: [], slots: [], places: [] },
  }
  const customers = new Map<string, number>()
  const conversations = new Map<string, SendConversation>()
  const slots = new Map<string, SendPlan['slots'][number]>()
  for (const { send, row, decision } of accepted) {
    const person = personOf(send, row)
    const customerId = customers.get(person) ?? planCustomer(plan, send, row)
    customers.set(person, customerId)
    const key = `${person} ${send.senderId}`
    const conversation = conversations.get(key) ?? planConversation(send, row, customerId, at)
    conversations.set(key, conversation)
    conversation.messages += 1
    conversation.lastText = send.text
    conversation.nextMessageMs = decision.nextMessageMs
    const { messageId } = row
    const seq = row.messageCount + conversation.messages
    plan.messages.push({ send, id: messageId, conversationId: conversation.id, seq })
    const { companyId, senderId } = send
    if (decision.nextSlotMs !== null) {
      slots.set(`${companyId} ${senderId}`, { companyId, senderId, nextSlotMs: decision.nextSlotMs })
    }
    if (decision.takesPlace) plan.places.push({ companyId, scope: send.limitScope, customerId, messageId })
  }
  plan.conversations.push(...conversations.values())
  plan.slots.push(...slots.values())
  return plan
}

/** Attaches a known customer with deleted contact to a new or free one. */
function planCustomer(plan: SendPlan, send: Send, row: SendRow): number {
  const { companyId, identity, phone, account } = send
  if (row.customerId !== null && row.contactId !== null) return row.customerId
  const address = row.customerId === null ? phone : row.customerPhone
  const holders = new Map(row.holders.map((holder) => [holder.identity, holder]))
  const contactId = contactOf(address, holders)?.id ?? planContact(plan, send, row, address)
  if (row.customerId !== null) {
    plan.attached.push({ companyId, customerId: row.customerId, contactId, isInLedger: row.isInLedger })
    return row.customerId
  }
  const customerId = idOf(row.newCustomerId)
  plan.customers.push({ companyId, id: customerId, contactId, phone })
  plan.identities.push({ companyId, customerId, identity, account: phone === null ? account : null })
  return customerId
}

function planContact(plan: SendPlan, send: Send, row: SendRow, phone: string | null): number {
  const id = idOf(row.newContactId)
  const { companyId, contactSource, sourceType } = send
  const identity = phone === null ? send.identity : phoneIdentity(phone)
  plan.contacts.push({ companyId, id, identity, phone, source: contactSource, sourceType, isInLedger: row.isInLedger })
  return id
}

function planConversation(send: Send, row: SendRow, customerId: number, at: Date): SendConversation {
  return {
    companyId: send.companyId,
    id: row.conversationId ?? idOf(row.newConversationId),
    isNew: row.conversationId === null,
    senderId: send.senderId,
    customerId,
    // A former user id leads to the same customer.
    userId: row.userId ?? (row.conversationId === null && send.phone === null ? send.identity : null),
    ...{ messages: 0, lastDirection: 'outbound', lastMessageAt: at, place: 0 },
  }
}

function idOf(id: number | null): number {
  if (id === null) throw new Error('A row that is to be created has no id')
  return id
}
