import type { Ids } from '../../customers/customer-store.ts'
import type { DailyLimitPlace } from './daily-limit-store.ts'
import type { Send, SendDecision } from './decide-sends.ts'
import type { SendRow } from './send-fact-store.ts'

export type AcceptedSend = { send: Send; row: SendRow; decision: Extract<SendDecision, { refusal: null }> }

/** The rows that accepted sends write, each once. */
export type SendPlan = {
  contacts: {
    companyId: number
    id: number
    identity: string
    phone: string | null
    source: string
    sourceType: string
  }[]
  customers: { companyId: number; id: number; contactId: number; phone: string | null }[]
  identities: { companyId: number; customerId: number; identity: string; account: string | null }[]
  /** Customers whose contact was deleted, and the contact that they have from now on. */
  attached: { companyId: number; customerId: number; contactId: number }[]
  conversations: {
    companyId: number
    id: number
    isNew: boolean
    senderId: number
    customerId: number
    userId: string | null
    messages: number
    lastText: string | null
    nextMessageMs: number
  }[]
  messages: { send: Send; id: number; conversationId: number; seq: number }[]
  slots: { companyId: number; senderId: number; nextSlotMs: number }[]
  places: DailyLimitPlace[]
}

/** How many ids of each kind the sends need: a person who is named by several sends is created once. */
export function countNew(accepted: readonly AcceptedSend[]) {
  const strangers = new Set<string>()
  const contacts = new Set<string>()
  const conversations = new Set<string>()
  for (const { send, row } of accepted) {
    if (row.customerId === null) strangers.add(personOf(send, row))
    if (row.contactId === null && row.phoneContactId === null) contacts.add(personOf(send, row))
    if (row.conversationId === null) conversations.add(`${personOf(send, row)} ${send.senderId}`)
  }
  return {
    customers: strangers.size,
    contacts: contacts.size,
    conversations: conversations.size,
    messages: accepted.length,
  }
}

/** Two sends with the same key are to the same person, whether or not it is a customer yet. */
export const personOf = ({ companyId, identity }: Send, { customerId }: SendRow): string =>
  customerId === null ? `${companyId} ${identity}` : `${companyId} customer ${customerId}`

/** Says which rows the accepted sends write. `ids` has as many as `countNew` says. */
export function planSends(accepted: readonly AcceptedSend[], ids: Ids): SendPlan {
  const plan: SendPlan = {
    ...{ contacts: [], customers: [], identities: [], attached: [] },
    ...{ conversations: [], messages: [], slots: [], places: [] },
  }
  const next = { customers: 0, contacts: 0, conversations: 0 }
  const take = (kind: keyof typeof next): number => {
    const id = ids[kind][next[kind]]
    next[kind] += 1
    if (id === undefined) throw new Error(`Too few ids of ${kind} were taken`)
    return id
  }
  const customers = new Map<string, number>()
  const conversations = new Map<string, SendPlan['conversations'][number]>()
  const slots = new Map<string, SendPlan['slots'][number]>()
  for (const [index, { send, row, decision }] of accepted.entries()) {
    const person = personOf(send, row)
    const customerId = customers.get(person) ?? planCustomer(plan, send, row, take)
    customers.set(person, customerId)
    const key = `${person} ${send.senderId}`
    const conversation = conversations.get(key) ?? planConversation(send, row, customerId, take)
    conversations.set(key, conversation)
    conversation.messages += 1
    conversation.lastText = send.text
    conversation.nextMessageMs = decision.nextMessageMs
    const messageId = ids.messages[index]
    if (messageId === undefined) throw new Error('Too few ids of messages were taken')
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

type Take = (kind: 'customers' | 'contacts' | 'conversations') => number

/**
 * The customer of a send. A new one has the oldest living contact with its phone, else a new contact; so has a known one
 * whose contact was deleted.
 */
function planCustomer(plan: SendPlan, send: Send, row: SendRow, take: Take): number {
  const { companyId, identity, phone, account } = send
  if (row.customerId !== null && row.contactId !== null) return row.customerId
  const contactId = row.phoneContactId ?? planContact(plan, send, take)
  if (row.customerId !== null) {
    plan.attached.push({ companyId, customerId: row.customerId, contactId })
    return row.customerId
  }
  const customerId = take('customers')
  plan.customers.push({ companyId, id: customerId, contactId, phone })
  plan.identities.push({ companyId, customerId, identity, account: phone === null ? account : null })
  return customerId
}

function planContact(plan: SendPlan, send: Send, take: Take): number {
  const id = take('contacts')
  const { companyId, identity, phone, contactSource, sourceType } = send
  plan.contacts.push({ companyId, id, identity, phone, source: contactSource, sourceType })
  return id
}

function planConversation(send: Send, row: SendRow, customerId: number, take: Take): SendPlan['conversations'][number] {
  return {
    companyId: send.companyId,
    id: row.conversationId ?? take('conversations'),
    isNew: row.conversationId === null,
    senderId: send.senderId,
    customerId,
    // A former user id leads to its customer, too.
    userId: row.userId ?? (send.phone === null ? send.identity : null),
    messages: 0,
    lastText: null,
    nextMessageMs: 0,
  }
}
