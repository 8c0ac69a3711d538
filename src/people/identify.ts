import { phoneIdentity } from '../platform/text/phone.ts'
import {
  addCustomer,
  addIdentity,
  type Customer,
  currentUserId,
  customerOf,
  isUserId,
  joinCustomers,
  type People,
  retirePhones,
  takePhone,
} from './people.ts'

/** A customer as named by an event. Times are in milliseconds since 1970, by the provider's clock. */
export type NamedCustomer = {
  readonly phone: string | null
  readonly userId: string | null
  /** The WhatsApp business account that reported the customer; user ids are comparable only within one account. */
  readonly account: string
  readonly at: number
}

/** Resolves or creates the customer of a message, reaction or echo; undefined if the event names nobody. */
export function identify(people: People, named: NamedCustomer): Customer | undefined {
  const { phone, userId } = named
  if (phone !== null && userId !== null) return identifyByBoth(people, { ...named, phone, userId })
  if (phone !== null) return customerOf(people, phoneIdentity(phone)) ?? newCustomer(people, named)
  return userId === null ? undefined : (customerOf(people, userId) ?? newCustomer(people, named))
}

/**
 * Updates the number for replies: at first the dialled or reported one, then the identity of the last inbound message.
 * A customer whose first message has a user id alone gets replies there. Late messages are ignored.
 */
export function writeUnder(
  people: People,
  customer: Customer,
  { phone, at }: Pick<NamedCustomer, 'phone' | 'at'>,
): void {
  if (isBefore(at, customer.wroteAt)) return
  const isFirst = customer.wroteAt === null
  customer.wroteAt = Math.max(at, customer.wroteAt ?? at)
  const isOwn = phone === null ? isFirst : customerOf(people, phoneIdentity(phone)) === customer
  if (!isOwn || customer.phone === phone) return
  customer.phone = phone
  people.hasMoved = true
}

/** Resolves or creates a WhatsApp group, a customer whose only identity is the group id. */
export function identifyGroup(people: People, groupId: string, at: number): Customer {
  const identity = `#${groupId}`
  const existing = customerOf(people, identity)
  if (existing !== undefined) return existing
  const group = addCustomer(people, null, groupId)
  addIdentity(people, group, identity, null, at)
  return group
}

type Both = NamedCustomer & { readonly phone: string; readonly userId: string }

function identifyByBoth(people: People, named: Both): Customer {
  const { phone, userId, account, at } = named
  const holder = customerOf(people, phoneIdentity(phone))
  const user = customerOf(people, userId)
  if (user !== undefined && (user === holder || isLate(user, named))) return user
  if (holder === undefined) {
    if (user === undefined) return newCustomer(people, named)
    takePhone(people, user, phone, at)
    return user
  }
  if (currentUserId(holder, account) !== undefined) return identifyRecycled(people, named, holder, user)
  if (user === undefined) addIdentity(people, holder, userId, account, at)
  else {
    // Customers who wrote by user id must not get replies at a dialled number.
    if (user.wroteAt !== null && holder.wroteAt === null) holder.phone = phone
    joinUser(people, user, holder, at)
  }
  return holder
}

/** The number belongs to a new person; the holder keeps conversations and user ids. Older events change nothing. */
function identifyRecycled(people: People, named: Both, holder: Customer, user: Customer | undefined): Customer {
  const { phone, at } = named
  if (isBefore(at, reportedAt(holder, phoneIdentity(phone))))
    return user ?? newCustomer(people, { ...named, phone: null })
  retirePhones(people, holder, at)
  if (user === undefined) return newCustomer(people, named)
  takePhone(people, user, phone, at)
  return user
}

/** Joins a user id with a number that has none; retires the user's previous number. */
export function joinUser(people: People, user: Customer, holder: Customer, at: number): void {
  retirePhones(people, user, at)
  joinCustomers(people, user, holder)
}

/**
 * Late if the number or user id has changed since. An identity left in the same second means a repeated event: none
 * returns within a second.
 */
function isLate(user: Customer, { phone, userId, at }: Both): boolean {
  const { identities } = user
  const left = [identities.get(phoneIdentity(phone))?.retiredAt, identities.get(userId)?.retiredAt]
  if (left.some((moment) => typeof moment === 'number' && !isBefore(moment, at))) return true
  return user.phone !== null && isBefore(at, reportedAt(user, phoneIdentity(user.phone)))
}

/** Compares provider times, which have whole seconds; within one second, arrival order counts. */
export const isBefore = (at: number, other: number | null | undefined): boolean =>
  other !== null && other !== undefined && Math.floor(at / 1000) < Math.floor(other / 1000)

export const reportedAt = ({ identities }: Customer, identity: string): number | undefined =>
  identities.get(identity)?.reportedAt

export function newCustomer(people: People, { phone, userId, account, at }: NamedCustomer): Customer {
  const customer = addCustomer(people, phone)
  if (phone !== null) addIdentity(people, customer, phoneIdentity(phone), null, at)
  if (userId !== null) addIdentity(people, customer, userId, account, at)
  return customer
}

/** Recipient identities reported by the provider. `requestedIdentity` was the address in the send. */
export type RecipientReport = NamedCustomer & { readonly requestedIdentity: string | null }

/** Links new identities to the recipient. Must never move one, since a status may be late. */
export function learnRecipient(
  people: People,
  { phone, userId, account, at, requestedIdentity }: RecipientReport,
): void {
  const identity = phone === null ? null : phoneIdentity(phone)
  const customer = customerOf(people, identity) ?? customerOf(people, requestedIdentity)
  if (customer === undefined) return
  if (identity !== null && phone !== null && isUnknown(people, customer, identity)) {
    if (customer.phone === null) takePhone(people, customer, phone, at)
    else addIdentity(people, customer, identity, null, at)
  }
  if (userId === null || !isUnknown(people, customer, userId)) return
  if (currentUserId(customer, account) === undefined) addIdentity(people, customer, userId, account, at)
}

/**
 * Links the identities in a send's response. If they already lead to another customer, the requested identity moves
 * there, unless both are known to be two people.
 */
export function learnAnswer(people: People, report: RecipientReport): void {
  const { phone, userId, requestedIdentity, account, at } = report
  const identity = phone === null ? null : phoneIdentity(phone)
  const recipient = customerOf(people, requestedIdentity)
  const reported = customerOf(people, identity) ?? customerOf(people, userId)
  if (requestedIdentity !== null && recipient !== undefined && reported !== undefined && reported !== recipient) {
    if (!areTwoPersons(recipient, reported, report))
      moveIdentity(people, requestedIdentity, recipient, reported, { account, at })
  }
  learnRecipient(people, report)
}

/** A person has one current user id per account; a number and a user id paired otherwise mean two people. */
function areTwoPersons(
  recipient: Customer,
  reported: Customer,
  { phone, requestedIdentity, account }: RecipientReport,
): boolean {
  const [own, other] = [currentUserId(recipient, account), currentUserId(reported, account)]
  if (own !== undefined && other !== undefined && own !== other) return true
  const isByPhone = requestedIdentity !== null && !isUserId(requestedIdentity)
  if (isByPhone === (phone !== null)) return false
  const [paired, number] = isByPhone
    ? [reported.phone, requestedIdentity]
    : [recipient.phone, phone && phoneIdentity(phone)]
  return paired !== null && phoneIdentity(paired) !== number
}

function moveIdentity(
  people: People,
  identity: string,
  from: Customer,
  to: Customer,
  { account, at }: { account: string; at: number },
): void {
  from.identities.delete(identity)
  if (from.phone !== null && phoneIdentity(from.phone) === identity) {
    to.phone ??= from.phone
    from.phone = null
  }
  addIdentity(people, to, identity, account, at)
  people.hasMoved = true
}

const isUnknown = (people: People, { identities }: Customer, identity: string): boolean =>
  customerOf(people, identity) === undefined && !identities.has(identity)
