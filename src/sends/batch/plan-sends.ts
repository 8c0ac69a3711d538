import type { ConversationWrite } from '../../conversations/recording/conversation-write-store.ts'
import { contactOf } from '../../people/person-contact.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'
import type { DailyLimitPlace } from './daily-limit-store.ts'
import type { Send, SendDecision } from './decide-sends.ts'
import type { SendRow } from './send-fact-store.ts'

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
  const contactId =
    contactOf({ attached: undefined, phone: address, holders })?.id ?? planContact(plan, send, row, address)
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
