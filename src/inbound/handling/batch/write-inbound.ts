import type { RecordChange } from '../../../changes/record-change.ts'
import { applyMessageChanges, insertMessages, insertReactions } from '../../../conversations/message-store.ts'
import {
  type ConversationWrite,
  writeConversations,
} from '../../../conversations/recording/conversation-write-store.ts'
import type { Db } from '../../../db/connect.ts'
import { refreshConsents, showEarlierConsents } from '../../../people/consent/shown-consent.ts'
import { insertCustomerContacts, releasePhones, setContactPhones } from '../../../people/contact-store.ts'
import {
  deleteIdentities,
  insertCustomers,
  insertIdentities,
  takeIds,
  updateCustomers,
} from '../../../people/customer-store.ts'
import { isPhone, type People, type PersonConversation } from '../../../people/people.ts'
import {
  contactsOf,
  currentIdentities,
  type PeoplePlan,
  type PeopleRows,
  planPeople,
} from '../../../people/people-store.ts'
import {
  type ChangedConversation,
  type InboundDecisions,
  type InboundRecord,
  recordKey,
  writtenAt,
} from './decide-inbound.ts'
import { writerIdentities } from './item-records.ts'

export type Recorded = { isNew: boolean; conversationId: number | null; messageId: number | null }

export type RecordedBatch = {
  recorded: Recorded[]
  movedCompanies: number[]
  /** Of people whose messages are in the batch. */
  createdContacts: ContactKey[]
  changedContacts: ContactKey[]
  identifiedContacts: ContactKey[]
}

type ContactKey = { companyId: number; id: number }

/** Builds events for the contacts of a batch. */
export const toContactChanges = ({
  createdContacts,
  identifiedContacts,
  changedContacts,
}: Pick<RecordedBatch, 'createdContacts' | 'identifiedContacts' | 'changedContacts'>): RecordChange[] => [
  ...identifiedContacts.map((contact): RecordChange => ({ event: 'contact.changed', change: 'updated', ...contact })),
  ...changedContacts.map((contact): RecordChange => ({ event: 'contact.changed', change: 'consent', ...contact })),
  ...createdContacts.map((contact): RecordChange => ({ event: 'contact.changed', change: 'created', ...contact })),
]

type Decided = InboundDecisions & { people: ReadonlyMap<number, People> }
type Facts = { rows: PeopleRows; messageIds: readonly number[]; changed: ReadonlySet<string> }
type Written = { sourceType: string; at: Date }

type RealId = (id: number) => number

/** Writes a batch's decisions: one statement for new ids, then all others in one round trip. */
export async function writeInbound(tx: Db, decided: Decided, facts: Facts, written: Written): Promise<RecordedBatch> {
  const plan = planPeople(decided.people, facts.rows)
  const realId = await takeRealIds(tx, plan, decided.changes)
  const messages = toMessages(decided, facts.messageIds, realId)
  const released: { companyId: number; contactId: number }[] = []
  await Promise.all([
    ...writePeople(tx, plan, realId, written.sourceType, released),
    ...writeWritten(tx, decided, plan, messages, facts, realId, written.at),
  ])
  const keys = changedPersons(plan, realId)
  const refreshed = keys.length === 0 ? [] : await refreshConsents(tx, keys)
  const messageIds = new Map(messages.map(({ planned, id }) => [planned, id]))
  return {
    recorded: decided.placements.map((placement) => ({
      isNew: placement !== undefined,
      conversationId: placement === undefined ? null : realId(placement.conversation.id),
      messageId: placement?.message ? (messageIds.get(placement.message) ?? null) : null,
    })),
    movedCompanies: [...decided.people].flatMap(([companyId, { hasMoved }]) => (hasMoved ? [companyId] : [])),
    createdContacts: createdContacts(plan, decided, realId),
    changedContacts: refreshed.map(({ companyId, contactId }) => ({ companyId, id: contactId })),
    identifiedContacts: distinctContacts([...released, ...contactsOf(plan, decided.people)]),
  }
}

function createdContacts({ newContacts }: PeoplePlan, { changes }: Decided, realId: RealId): ContactKey[] {
  if (newContacts.length === 0) return []
  const written = new Set(changes.map(({ conversation }) => conversation))
  return newContacts
    .filter(({ customer }) => customer.conversations.some((one) => written.has(one)))
    .map(({ companyId, contact }) => ({ companyId, id: realId(contact.id) }))
}

/** Persons with a new identity or contact, for whom earlier preferences may apply now. */
function changedPersons({ newIdentities, changedCustomers, newContacts }: PeoplePlan, realId: RealId) {
  const isNew = new Set(newContacts.map(({ customer }) => customer.id))
  const identified = newIdentities.filter(
    ({ customerId, identity }) => !isNew.has(customerId) && !isOwnPhone(customerId, identity),
  )
  return [
    ...identified.map(({ companyId, identity }) => ({ companyId, identity })),
    ...changedCustomers.map(({ companyId, customer }) => ({ companyId, contactId: realId(customer.contactId) })),
  ]
}

const distinctContacts = (contacts: readonly { companyId: number; contactId: number }[]) => [
  ...new Map(contacts.map(({ companyId, contactId: id }) => [`${companyId} ${id}`, { companyId, id }])).values(),
]

const isOwnPhone = (customerId: number, identity: string): boolean => customerId < 0 && isPhone(identity)

async function takeRealIds(tx: Db, plan: PeoplePlan, changes: readonly ChangedConversation[]): Promise<RealId> {
  const created = {
    customers: plan.newCustomers.map(({ customer }) => customer.id),
    contacts: plan.newContacts.map(({ contact }) => contact.id),
    conversations: changes.map(({ conversation }) => conversation.id).filter((id) => id < 0),
  }
  const { customers, contacts, conversations } = created
  const count = customers.length + contacts.length + conversations.length
  if (count === 0) return (id) => id
  const ids = await takeIds(tx, {
    ...{ customers: customers.length, contacts: contacts.length, conversations: conversations.length, messages: 0 },
  })
  const real = new Map<number, number | undefined>([
    ...customers.map((id, place) => [id, ids.customers[place]] as const),
    ...contacts.map((id, place) => [id, ids.contacts[place]] as const),
    ...conversations.map((id, place) => [id, ids.conversations[place]] as const),
  ])
  return (id) => {
    const realId = id > 0 ? id : real.get(id)
    if (realId === undefined) throw new Error('A row that is to be created has no id')
    return realId
  }
}

const toMessages = ({ messages }: InboundDecisions, ids: readonly number[], realId: RealId) =>
  messages.map((planned, place) => {
    const { record, conversation, seq } = planned
    const id = ids[place]
    if (id === undefined) throw new Error('A message has no id')
    const { companyId, type, messageKind, text, media, senderName, wamid, sentAt, quotedWamid } = record
    const { content, context, error } = record
    const members = { companyId, type, messageKind, text, media, senderName, wamid, sentAt, quotedWamid }
    return {
      planned,
      id,
      ...members,
      content,
      context,
      error,
      conversationId: realId(conversation.id),
      seq,
      isEcho: record.kind === 'echo',
    }
  })

/** Contacts must release numbers before others take them; referenced rows come first. */
function writePeople(
  tx: Db,
  plan: PeoplePlan,
  realId: RealId,
  sourceType: string,
  released: { companyId: number; contactId: number }[],
): Promise<unknown>[] {
  const toCustomer = ({ companyId, customer }: PeoplePlan['newCustomers'][number]) => ({
    ...{ companyId, id: realId(customer.id), contactId: realId(customer.contactId), phone: customer.phone },
  })
  const newContacts = plan.newContacts.map(({ companyId, contact, customer }) => {
    const [identity = ''] = currentIdentities(customer)
    return {
      ...{ companyId, id: realId(contact.id), identity, phone: contact.phone },
      ...{ source: CONTACT_SOURCE, sourceType },
    }
  })
  const identities = plan.newIdentities.map((one) => ({
    ...{ companyId: one.companyId, customerId: realId(one.customerId), identity: one.identity, account: one.account },
    ...{ reportedAt: new Date(one.reportedAt), retiredAt: toTime(one.retiredAt) },
    leftAt: toTime(one.leftAt),
  }))
  return [
    ...ifAny(plan.releasedPhones, async (phones) => released.push(...(await releasePhones(tx, phones)))),
    ...ifAny(plan.contactPhones, (contacts) => setContactPhones(tx, contacts)),
    ...ifAny(newContacts, (contacts) => insertCustomerContacts(tx, contacts)),
    ...ifAny(plan.newCustomers.map(toCustomer), (customers) => insertCustomers(tx, customers)),
    ...ifAny(plan.changedCustomers.map(toCustomer), (customers) => updateCustomers(tx, customers)),
    ...ifAny(plan.removedIdentities, (removed) => deleteIdentities(tx, removed)),
    ...ifAny(identities, (added) => insertIdentities(tx, added)),
    ...ifAny(newContacts, (contacts) => showEarlierConsents(tx, contacts)),
  ]
}

const toTime = (ms: number | null): Date | null => (ms === null ? null : new Date(ms))

const CONTACT_SOURCE = 'WhatsApp'

function writeWritten(
  tx: Db,
  { changes, reactions }: InboundDecisions,
  plan: PeoplePlan,
  messages: ReturnType<typeof toMessages>,
  facts: Facts,
  realId: RealId,
  at: Date,
): Promise<unknown>[] {
  const written = new Set(changes.map(({ conversation }) => conversation))
  const conversations = [
    ...changes.map((change) => toWrite(change, realId, at)),
    ...plan.conversations
      .filter(({ conversation }) => !written.has(conversation))
      .map(({ companyId, conversation }) => toPlace(companyId, conversation, realId)),
  ]
  const changed = messages.flatMap(({ companyId, planned: { record } }) => {
    const key = recordKey(record)
    const isChanged = key !== undefined && facts.changed.has(key)
    return isChanged && record.wamid !== null ? [{ companyId, wamid: record.wamid }] : []
  })
  return [
    ...ifAny(conversations, (rows) => writeConversations(tx, rows, at)),
    ...ifAny(messages, (rows) => insertMessages(tx, rows, at)),
    ...ifAny(reactions.map(toReaction), (rows) => insertReactions(tx, rows)),
    ...ifAny(changed, (rows) => applyMessageChanges(tx, rows, at)),
  ]
}

const ifAny = <Row>(rows: readonly Row[], write: (rows: readonly Row[]) => Promise<unknown>): Promise<unknown>[] =>
  rows.length === 0 ? [] : [write(rows)]

function toPlace(companyId: number, conversation: PersonConversation, realId: RealId) {
  const { id, senderId, customerId, userId, isClosed } = conversation
  return { companyId, id: realId(id), isNew: id < 0, senderId, customerId: realId(customerId), userId, isClosed }
}

/** The window opens at the earlier clock, never in the future. */
function toWrite(change: ChangedConversation, realId: RealId, at: Date): ConversationWrite {
  const { companyId, conversation, profileName, messages, unread, isAnswered, isWrittenTo, last } = change
  const { lastInboundAt, window } = change
  return {
    ...toPlace(companyId, conversation, realId),
    ...{ profileName, messages, unread, isAnswered, isWrittenTo },
    lastText: last?.text ?? null,
    lastDirection: last === null ? null : last.kind === 'echo' ? 'outbound' : 'inbound',
    lastMessageAt: last === null ? null : (last.sentAt ?? last.arrivedAt),
    lastInboundAt: lastInboundAt === null ? null : new Date(Math.min(lastInboundAt, at.getTime())),
    window: window && { ...window, openedAt: new Date(Math.min(window.openedAt, at.getTime())) },
    place: change.place + 1,
  }
}

const toReaction = (record: InboundRecord) => ({
  ...{ companyId: record.companyId, wamid: record.wamid, targetWamid: record.targetWamid, emoji: record.emoji },
  writers: writerIdentities(record),
  occurredAt: writtenAt(record),
})
