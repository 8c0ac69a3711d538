import { phoneIdentity } from '../platform/text/phone.ts'
import {
  addCustomer,
  addIdentity,
  type Customer,
  currentUserId,
  customerOf,
  joinCustomers,
  type People,
  retirePhones,
  takePhone,
} from './people.ts'

/** The identities by which an event names a customer. Times are in milliseconds since 1970, by the provider's clock. */
export type NamedCustomer = {
  /** Digits as written; null: the customer hides the phone number. */
  readonly phone: string | null
  readonly userId: string | null
  /** The WhatsApp business account whose number reported it. User ids are compared within one account. */
  readonly account: string
  readonly at: number
}

/** The customer of a message, reaction or echo; undefined when it names none. */
export function identify(people: People, named: NamedCustomer): Customer | undefined {
  const { phone, userId } = named
  if (phone !== null && userId !== null) return identifyByBoth(people, { ...named, phone, userId })
  if (phone !== null) return customerOf(people, phoneIdentity(phone)) ?? newCustomer(people, named)
  return userId === null ? undefined : (customerOf(people, userId) ?? newCustomer(people, named))
}

/**
 * Lets answers go to the identity under which a customer writes. Until the first message it is the number that was dialled or
 * reported; who first writes by user id alone is answered by it. A late message changes nothing.
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

/** A WhatsApp group is a customer whose only identity is its id. */
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
    // Who has written by user id is not answered at a number that was dialled.
    if (user.wroteAt !== null && holder.wroteAt === null) holder.phone = phone
    joinUser(people, user, holder, at)
  }
  return holder
}

/**
 * The number of `holder`, who has another user id, comes with this one: it is another person's now. The holder keeps
 * conversations and user ids. An event that is older than the report of the number says nothing about it.
 */
function identifyRecycled(people: People, named: Both, holder: Customer, user: Customer | undefined): Customer {
  const { phone, at } = named
  if (isBefore(at, reportedAt(holder, phoneIdentity(phone))))
    return user ?? newCustomer(people, { ...named, phone: null })
  retirePhones(people, holder, at)
  if (user === undefined) return newCustomer(people, named)
  takePhone(people, user, phone, at)
  return user
}

/** A number without a user id, and a user id, turn out to be one person's: a number that the user had before is retired. */
export function joinUser(people: People, user: Customer, holder: Customer, at: number): void {
  retirePhones(people, user, at)
  joinCustomers(people, user, holder)
}

/**
 * Whether an event comes late: the user was reported with another number, or changed number or user id, since. An event with an
 * identity that was left in the same second is a repeat from before: no identity comes back within a second.
 */
function isLate(user: Customer, { phone, userId, at }: Both): boolean {
  const { identities } = user
  const left = [identities.get(phoneIdentity(phone))?.retiredAt, identities.get(userId)?.retiredAt]
  if (left.some((moment) => typeof moment === 'number' && !isBefore(moment, at))) return true
  return user.phone !== null && isBefore(at, reportedAt(user, phoneIdentity(user.phone)))
}

/** Provider's times are whole seconds: within one second, the order of arrival counts. */
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
