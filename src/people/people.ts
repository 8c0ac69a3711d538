import { phoneIdentity } from '../platform/text/phone.ts'
import { contactOf } from './person-contact.ts'

/** An identity of a customer. Times are in milliseconds since 1970. */
export type IdentityState = {
  /** Of a user id: the WhatsApp business account whose number reported it. */
  readonly account: string | null
  readonly reportedAt: number
  /** Since when it is no address; null: it is one. */
  readonly retiredAt: number | null
  /** When that became known, by the database's clock; null: it is an address, or was one until this batch. */
  readonly leftAt: number | null
}

/** A person as the provider knows them, or a WhatsApp group. */
export type Customer = {
  /** Negative: to be created. */
  readonly id: number
  contactId: number
  /** Digits as written, at which answers reach the customer; null: hidden, or another person's by now. */
  phone: string | null
  /** When the customer last wrote; null: never. */
  wroteAt: number | null
  readonly identities: Map<string, IdentityState>
  /** At most one for each sender. */
  conversations: PersonConversation[]
}

/** A contact that a customer is attached to, or that has the phone number of one. */
export type PersonContact = {
  /** Negative: to be created. */
  readonly id: number
  /** Digits, and their identity. */
  phone: string | null
  phoneIdentity: string | null
  readonly isLiving: boolean
  /** Of a group: its id. */
  readonly firstName: string | null
}

/** A conversation, as far as it concerns who its customer is. */
export type PersonConversation = {
  /** Negative: to be created. */
  readonly id: number
  readonly senderId: number
  /** The WhatsApp business account of its sender. */
  readonly account: string
  customerId: number
  /** The user id at which the customer is reached from this sender. */
  userId: string | null
  /** Also the seq of its last message. */
  readonly messageCount: number
  /** The customer goes on in another conversation. */
  isClosed: boolean
}

/**
 * Some customers of one company with their contacts: facts of the database, which rules change in memory. Everything that
 * identities of the batch lead to is there.
 */
export type People = {
  readonly customers: Map<number, Customer>
  readonly contacts: Map<number, PersonContact>
  /** The customer that each identity leads to. */
  readonly leads: Map<string, number>
  /** The oldest living contact that has each phone identity. */
  readonly holders: Map<string, number>
  /** Identities whose locks are held. */
  readonly locked: ReadonlySet<string>
  /** Phone identities that a rule takes from a customer and whose locks are not held: lock them and begin again. */
  readonly unlocked: Set<string>
  /** Phone identities that were taken from all contacts that had them. */
  readonly released: Set<string>
  /** Contacts whose phone number was changed. */
  readonly changedContacts: Set<number>
  /** Whether conversations have another customer, contact or address than before. */
  hasMoved: boolean
  /** Shared by the companies of a batch: the last id of a row to be created. */
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

/** The customer that an identity leads to; undefined: there is none. */
export function customerOf(people: People, identity: string | null): Customer | undefined {
  const id = identity === null ? undefined : people.leads.get(identity)
  return id === undefined ? undefined : people.customers.get(id)
}

/** The user id at which a customer is reached from numbers of an account: the one reported last. */
export function currentUserId({ identities }: Customer, account: string): string | undefined {
  let current: { identity: string; reportedAt: number } | undefined
  for (const [identity, { account: own, reportedAt, retiredAt }] of identities) {
    if (own !== account || retiredAt !== null || !isUserId(identity)) continue
    if (current === undefined || reportedAt >= current.reportedAt) current = { identity, reportedAt }
  }
  return current?.identity
}

/** The contact of a customer, unless it is deleted. */
export function livingContact(people: People, { contactId }: Customer): PersonContact | undefined {
  const contact = people.contacts.get(contactId)
  return contact?.isLiving ? contact : undefined
}

/** Adds a customer with nothing but a contact: that of the person, else a new one. */
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

/** Attaches a customer whose contact was deleted to the contact of the person, else to a new one. */
export function attachContact(people: People, customer: Customer): void {
  if (livingContact(people, customer) !== undefined || attachStored(people, customer)) return
  customer.contactId = addContact(people, customer.phone, groupOf(customer))
}

/** The same if the person has a contact; returns whether it did. */
export function attachStored(people: People, customer: Customer): boolean {
  if (livingContact(people, customer) !== undefined) return false
  const contact = freeContact(people, customer.phone, currentPhones(customer))
  if (contact === undefined) return false
  customer.contactId = contact.id
  return true
}

/** The contact of a person who is attached to none. */
function freeContact(people: People, phone: string | null, phones: readonly string[]): PersonContact | undefined {
  const holders = new Map<string, PersonContact>()
  for (const identity of phones) {
    const holder = people.contacts.get(people.holders.get(identity) ?? 0)
    if (holder !== undefined) holders.set(identity, holder)
  }
  return contactOf({ attached: undefined, phone, holders })
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

/** The id of a row to be created: less than all before it. */
export function nextId(people: People): number {
  people.newIds.last -= 1
  return people.newIds.last
}

/** Lets an identity lead to a customer, as an address reported at `at`. */
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

/** Ends an identity as an address of its customer. A retired user id still leads to the customer, a retired number to none. */
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

/** Takes all phone numbers from a customer, but for one, and from the contacts that have them. */
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
 * Gives a customer a phone number in place of those before. The contact gets it too, unless the contact has another number. If
 * a living contact has the new number already, the customer is attached to that one.
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
 * Two customers turn out to be one person: all identities go to `target`. The conversations of both stay; where both have one
 * with a sender, that of `from` is closed, else it goes on as one of `target`. The contact is that of `target` unless it was
 * deleted; closed conversations keep theirs in the same way.
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

/** Lets the conversations of a customer show the current user ids. */
function showUserIds(customer: Customer): void {
  for (const conversation of customer.conversations) {
    const { account, userId } = conversation
    const isCurrent = userId !== null && customer.identities.get(userId)?.retiredAt === null
    conversation.userId = currentUserId(customer, account) ?? (isCurrent ? userId : null)
  }
}
