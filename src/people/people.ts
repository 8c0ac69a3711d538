import { phoneIdentity } from '../platform/text/phone.ts'
import { contactOf } from './person-contact.ts'

export type IdentityState = {
  readonly account: string | null
  readonly reportedAt: number
  readonly retiredAt: number | null
  /** When the retirement became known, by the database clock; null if current, or retired in this batch. */
  readonly leftAt: number | null
}

export type Customer = {
  /** Negative ids are to be created. */
  readonly id: number
  contactId: number
  /** Number for replies, in digits; null if hidden or now someone else's. */
  phone: string | null
  wroteAt: number | null
  readonly identities: Map<string, IdentityState>
  conversations: PersonConversation[]
}

export type PersonContact = {
  readonly id: number
  phone: string | null
  phoneIdentity: string | null
  readonly isLiving: boolean
  readonly firstName: string | null
}

export type PersonConversation = {
  readonly id: number
  readonly senderId: number
  readonly account: string
  customerId: number
  userId: string | null
  readonly messageCount: number
  isClosed: boolean
}

/** Facts of one company, changed in memory by rules: everything that a batch's identities lead to. */
export type People = {
  readonly customers: Map<number, Customer>
  readonly contacts: Map<number, PersonContact>
  readonly leads: Map<string, number>
  readonly holders: Map<string, number>
  readonly locked: ReadonlySet<string>
  /** Phone identities taken from a customer without a lock: the caller must lock them and start over. */
  readonly unlocked: Set<string>
  readonly released: Set<string>
  readonly changedContacts: Set<number>
  hasMoved: boolean
  readonly newIds: { last: number }
}

export const createPeople = (locked: Iterable<string> = [], newIds = { last: 0 }): People => ({
  customers: new Map(),
  contacts: new Map(),
  leads: new Map(),
  holders: new Map(),
  locked: new Set(locked),
  unlocked: new Set(),
  released: new Set(),
  changedContacts: new Set(),
  hasMoved: false,
  newIds,
})

export const isPhone = (identity: string): boolean => /^[0-9]/.test(identity)
export const isUserId = (identity: string): boolean => !/^[0-9#]/.test(identity)

export function customerOf(people: People, identity: string | null): Customer | undefined {
  const id = identity === null ? undefined : people.leads.get(identity)
  return id === undefined ? undefined : people.customers.get(id)
}

/** Returns the customer's latest current user id in an account. */
export function currentUserId({ identities }: Customer, account: string): string | undefined {
  let current: { identity: string; reportedAt: number } | undefined
  for (const [identity, { account: own, reportedAt, retiredAt }] of identities) {
    if (own !== account || retiredAt !== null || !isUserId(identity)) continue
    if (current === undefined || reportedAt >= current.reportedAt) current = { identity, reportedAt }
  }
  return current?.identity
}

function livingContact(people: People, { contactId }: Customer): PersonContact | undefined {
  const contact = people.contacts.get(contactId)
  return contact?.isLiving ? contact : undefined
}

/** Adds a customer with the person's free contact, else a new one. */
export function addCustomer(people: People, phone: string | null, groupId: string | null = null): Customer {
  const id = nextId(people)
  const contactId = freeContact(people, phone, phone === null ? [] : [phoneIdentity(phone)])?.id
  const customer: Customer = {
    ...{ id, contactId: contactId ?? addContact(people, phone, groupId), phone, wroteAt: null },
    ...{ identities: new Map(), conversations: [] },
  }
  people.customers.set(id, customer)
  return customer
}

export function attachContact(people: People, customer: Customer): void {
  if (livingContact(people, customer) !== undefined || attachStored(people, customer)) return
  customer.contactId = addContact(people, customer.phone, groupOf(customer))
}

export function attachStored(people: People, customer: Customer): boolean {
  if (livingContact(people, customer) !== undefined) return false
  const contact = freeContact(people, customer.phone, currentPhones(customer))
  if (contact === undefined) return false
  customer.contactId = contact.id
  return true
}

function freeContact(people: People, phone: string | null, phones: readonly string[]): PersonContact | undefined {
  const holders = new Map<string, PersonContact>()
  for (const identity of phones) {
    const holder = people.contacts.get(people.holders.get(identity) ?? 0)
    if (holder !== undefined) holders.set(identity, holder)
  }
  return contactOf(phone, holders)
}

const currentPhones = ({ identities }: Customer): string[] =>
  [...identities].flatMap(([identity, { retiredAt }]) => (retiredAt === null && isPhone(identity) ? [identity] : []))

function groupOf({ identities }: Customer): string | null {
  for (const identity of identities.keys()) if (identity.startsWith('#')) return identity.slice(1)
  return null
}

function addContact(people: People, phone: string | null, groupId: string | null): number {
  const id = nextId(people)
  const identity = phone === null ? null : phoneIdentity(phone)
  people.contacts.set(id, { id, phone, phoneIdentity: identity, isLiving: true, firstName: groupId })
  if (identity !== null) people.holders.set(identity, id)
  return id
}

export function nextId(people: People): number {
  people.newIds.last -= 1
  return people.newIds.last
}

export function addIdentity(
  people: People,
  customer: Customer,
  identity: string,
  account: string | null,
  at: number,
): void {
  customer.identities.set(identity, {
    account: isUserId(identity) ? account : null,
    reportedAt: at,
    retiredAt: null,
    leftAt: null,
  })
  people.leads.set(identity, customer.id)
  if (isUserId(identity)) showUserIds(customer)
}

/** Retires an identity. A retired user id still leads to the customer, a retired number to nobody. */
export function retire(people: People, customer: Customer, identity: string, at: number): void {
  const state = customer.identities.get(identity)
  if (state === undefined || state.retiredAt !== null) return
  people.hasMoved = true
  customer.identities.set(identity, { ...state, retiredAt: at })
  if (isUserId(identity)) {
    showUserIds(customer)
    return
  }
  if (!people.locked.has(identity)) people.unlocked.add(identity)
  people.leads.delete(identity)
}

/** Retires a customer's phone numbers except one, and removes them from contacts. */
export function retirePhones(people: People, customer: Customer, at: number, except?: string): void {
  for (const [identity, { retiredAt }] of [...customer.identities]) {
    if (!isPhone(identity) || identity === except || retiredAt !== null) continue
    retire(people, customer, identity, at)
    releaseFromContacts(people, identity)
  }
  if (customer.phone !== null && phoneIdentity(customer.phone) !== except) customer.phone = null
}

function releaseFromContacts(people: People, identity: string): void {
  people.released.add(identity)
  people.holders.delete(identity)
  for (const contact of people.contacts.values()) {
    if (contact.phoneIdentity !== identity) continue
    setPhone(people, contact, null)
  }
}

function setPhone(people: People, contact: PersonContact, phone: string | null): void {
  contact.phone = phone
  contact.phoneIdentity = phone === null ? null : phoneIdentity(phone)
  people.changedContacts.add(contact.id)
}

/**
 * Replaces a customer's phone numbers. The contact gets the number too, unless it has another one; if a living contact
 * has the number already, the customer moves there.
 */
export function takePhone(people: People, customer: Customer, phone: string, at: number): void {
  const identity = phoneIdentity(phone)
  retirePhones(people, customer, at, identity)
  addIdentity(people, customer, identity, null, at)
  customer.phone = phone
  givePhone(people, customer, phone)
}

function givePhone(people: People, customer: Customer, phone: string): void {
  const identity = phoneIdentity(phone)
  const contact = livingContact(people, customer)
  if (contact === undefined || contact.phoneIdentity !== null) return
  const holder = people.holders.get(identity)
  if (holder !== undefined) {
    customer.contactId = holder
    return
  }
  setPhone(people, contact, phone)
  people.holders.set(identity, contact.id)
}

/**
 * Joins two customers: `target` gets all identities, and keeps a living contact. Where both have a conversation with a
 * sender, the one from `from` closes; others move to `target`. Closed conversations keep their contact in the same way.
 */
export function joinCustomers(people: People, from: Customer, target: Customer): void {
  for (const [identity, state] of from.identities) {
    const own = target.identities.get(identity)
    if (own === undefined || own.reportedAt < state.reportedAt) target.identities.set(identity, state)
    if (people.leads.get(identity) === from.id) people.leads.set(identity, target.id)
  }
  const left = livingContact(people, from)
  if (left !== undefined && livingContact(people, target) === undefined) {
    target.contactId = left.id
    if (target.phone !== null) givePhone(people, target, target.phone)
  }
  if (left === undefined) from.contactId = target.contactId
  if (from.wroteAt !== null) target.wroteAt = Math.max(from.wroteAt, target.wroteAt ?? from.wroteAt)
  from.identities.clear()
  from.phone = null
  people.hasMoved = true
  const senders = new Set(target.conversations.map(({ senderId }) => senderId))
  const [closed, continued] = partition(from.conversations, ({ senderId }) => senders.has(senderId))
  for (const conversation of closed) Object.assign(conversation, { isClosed: true, userId: null })
  for (const conversation of continued) conversation.customerId = target.id
  from.conversations = closed
  target.conversations.push(...continued)
  showUserIds(target)
}

function partition<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))]
}

function showUserIds(customer: Customer): void {
  for (const conversation of customer.conversations) {
    const { account, userId } = conversation
    const isCurrent = userId !== null && customer.identities.get(userId)?.retiredAt === null
    conversation.userId = currentUserId(customer, account) ?? (isCurrent ? userId : null)
  }
}
