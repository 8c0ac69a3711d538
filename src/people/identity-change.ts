import { phoneIdentity } from '../platform/text/phone.ts'
import { isBefore, joinUser, type NamedCustomer, newCustomer, reportedAt } from './identify.ts'
import {
  addIdentity,
  type Customer,
  currentUserId,
  customerOf,
  isUserId,
  joinCustomers,
  type People,
  retire,
  retirePhones,
  takePhone,
} from './people.ts'

/** The provider reports that a customer has another phone number: every such change makes another user id. */
export type NumberChange = {
  /** Digits of the former number; null: the customer hides it. */
  readonly from: string | null
  readonly to: string
  /** The former user ids and the new one, where the report names them. */
  readonly previousUserIds: readonly string[]
  readonly userId: string | null
  readonly account: string
  readonly at: number
}

/**
 * The former number is no customer's from then on, and the former user ids are no addresses any more. Conversations and
 * contact carry the new number. The new number may bring its user id with its first message.
 */
export function changeNumber(people: People, change: NumberChange): void {
  const { from, to, previousUserIds, userId, account, at } = change
  const former = formerCustomer(people, change)
  if (former === undefined) return
  if (hasChanged(former, change)) {
    joinNewUserId(people, former, change)
    return
  }
  for (const identity of [...former.identities.keys()]) {
    if (isUserId(identity) && identity !== userId) retire(people, former, identity, at)
  }
  for (const identity of previousUserIds) keepFormer(people, former, identity, account, at)
  if (from !== null) keepFormer(people, former, phoneIdentity(from), account, at)
  retirePhones(people, former, at, phoneIdentity(to))
  giveNumber(people, joinNewUserId(people, former, change), { phone: to, userId, account, at })
}

/** Each number to which the customer has written reports the change: the first report was handled. */
function hasChanged({ phone, identities }: Customer, { from, to }: NumberChange): boolean {
  const isThere = phone !== null && phoneIdentity(phone) === phoneIdentity(to)
  return isThere && (from === null || (identities.get(phoneIdentity(from))?.retiredAt ?? null) !== null)
}

/** The customer who changes the number; undefined when the former number was reported of another person since. */
function formerCustomer(
  people: People,
  { from, to, previousUserIds, account, at }: NumberChange,
): Customer | undefined {
  const holder = from === null ? undefined : customerOf(people, phoneIdentity(from))
  const user = findCustomer(people, previousUserIds)
  const holderId = holder && currentUserId(holder, account)
  const isOther = holderId !== undefined && previousUserIds.length > 0 && !previousUserIds.includes(holderId)
  if (user !== undefined) {
    if (holder === undefined || holder === user || isOther) return user
    joinUser(people, user, holder, at)
    return holder
  }
  if (isOther) return newCustomer(people, { phone: null, userId: previousUserIds[0] ?? null, account, at })
  if (from === null || holder === undefined) {
    const next = from === null ? undefined : customerOf(people, phoneIdentity(to))
    const hasNext = from !== null && next?.identities.has(phoneIdentity(from))
    return hasNext ? next : newCustomer(people, { phone: from, userId: null, account, at })
  }
  const isReportedSince = holderId !== undefined && isBefore(at, reportedAt(holder, phoneIdentity(from)))
  return isReportedSince ? undefined : holder
}

const findCustomer = (people: People, identities: readonly string[]): Customer | undefined =>
  identities.map((identity) => customerOf(people, identity)).find((customer) => customer !== undefined)

/** Links a former identity to its customer unless it leads to a customer already; it is no address. */
function keepFormer(people: People, customer: Customer, identity: string, account: string, at: number): void {
  if (customer.identities.has(identity) || customerOf(people, identity) !== undefined) return
  addIdentity(people, customer, identity, account, at)
  retire(people, customer, identity, at)
}

/** A message may bring the new user id before the report: that customer is the same person. */
function joinNewUserId(people: People, former: Customer, { userId, account, at }: NumberChange): Customer {
  const existing = customerOf(people, userId)
  if (userId === null || existing === former) return former
  if (existing !== undefined) {
    joinCustomers(people, former, existing)
    return existing
  }
  addIdentity(people, former, userId, account, at)
  return former
}

/**
 * Gives a customer the new number, which may lead to another one: to another person, if it was reported with a user id before
 * the change; else to the same person, who has written from it.
 */
function giveNumber(
  people: People,
  customer: Customer,
  { phone, userId, at }: NamedCustomer & { phone: string },
): void {
  const identity = phoneIdentity(phone)
  const holder = customerOf(people, identity)
  if (holder !== undefined && holder !== customer) {
    const isSince = isBefore(at, reportedAt(holder, identity))
    if (!hasUserId(holder) || (userId === null && isSince)) {
      joinCustomers(people, customer, holder)
      return
    }
    if (isSince) return
    retirePhones(people, holder, at)
  }
  if (holder === customer && customer.phone !== null) return
  takePhone(people, customer, phone, at)
}

/** A user id that was retired by a reported change shows as well that the customer is a person of their own. */
const hasUserId = ({ identities }: Customer): boolean => [...identities.keys()].some(isUserId)

/** The provider reports that a customer has another user id. */
export type UserIdChange = {
  /** Digits, if the customer shows the number. */
  readonly phone: string | null
  readonly previousUserIds: readonly string[]
  readonly userId: string
  /** Whether the report is a message of its own: then a missing customer is created for it. */
  readonly isMessage: boolean
  readonly account: string
  readonly at: number
}

/** The new user id is the address from then on; the former ones still lead to the customer. */
export function changeUserId(people: People, change: UserIdChange): void {
  const { phone, previousUserIds, userId, isMessage, account, at } = change
  const existing = customerOf(people, userId)
  // The report of an earlier change, which comes late or again.
  if (existing !== undefined && existing.identities.get(userId)?.retiredAt !== null) return
  const isNamedByPhone = phone !== null && previousUserIds.length === 0
  const former = findCustomer(people, isNamedByPhone ? [phoneIdentity(phone)] : previousUserIds)
  if (former === undefined && (isNamedByPhone || !isMessage)) return
  const customer = joinFormer(people, former, existing, at) ?? newCustomer(people, { phone: null, userId, account, at })
  if (!customer.identities.has(userId)) addIdentity(people, customer, userId, account, at)
  for (const identity of previousUserIds) {
    keepFormer(people, customer, identity, account, at)
    retire(people, customer, identity, at)
  }
  for (const [identity, { account: own }] of [...customer.identities]) {
    if (isUserId(identity) && identity !== userId && own === account) retire(people, customer, identity, at)
  }
}

/** The customer of the former and of the new user id; of two, the one with a phone number, else the new one, goes on. */
function joinFormer(people: People, former: Customer | undefined, existing: Customer | undefined, at: number) {
  if (former === undefined || existing === undefined || former === existing) return former ?? existing
  const [from, target] = existing.phone === null && former.phone !== null ? [existing, former] : [former, existing]
  if (target.phone !== null) retirePhones(people, from, at)
  joinCustomers(people, from, target)
  return target
}
