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

export type NumberChange = {
  readonly from: string | null
  readonly to: string
  readonly previousUserIds: readonly string[]
  readonly userId: string | null
  readonly account: string
  readonly at: number
}

/** Moves a customer, their conversations and contact to a new number; its user id may only arrive with a message. */
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

/** Every sender the customer has written to reports the change; only the first report counts. */
function hasChanged({ phone, identities }: Customer, { from, to }: NumberChange): boolean {
  const isThere = phone !== null && phoneIdentity(phone) === phoneIdentity(to)
  return isThere && (from === null || (identities.get(phoneIdentity(from))?.retiredAt ?? null) !== null)
}

/** Returns undefined if the former number has since been reported for someone else. */
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

function keepFormer(people: People, customer: Customer, identity: string, account: string, at: number): void {
  if (customer.identities.has(identity) || customerOf(people, identity) !== undefined) return
  addIdentity(people, customer, identity, account, at)
  retire(people, customer, identity, at)
}

/** A message can reveal the new user id before the report does: same person. */
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
 * A holder with a user id reported before the change is another person; any other holder is this customer, who has
 * already written from the new number.
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

/** Retired user ids also prove a separate person. */
const hasUserId = ({ identities }: Customer): boolean => [...identities.keys()].some(isUserId)

export type UserIdChange = {
  readonly phone: string | null
  readonly previousUserIds: readonly string[]
  readonly userId: string
  /** Whether the report is a message itself; a missing customer is then created. */
  readonly isMessage: boolean
  readonly account: string
  readonly at: number
}

/** Makes the new user id the address; the former ones still lead to the customer. */
export function changeUserId(people: People, change: UserIdChange): void {
  const { phone, previousUserIds, userId, isMessage, account, at } = change
  const existing = customerOf(people, userId)
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

/** Of two customers, the one with a phone number remains, else the new one. */
function joinFormer(people: People, former: Customer | undefined, existing: Customer | undefined, at: number) {
  if (former === undefined || existing === undefined || former === existing) return former ?? existing
  const [from, target] = existing.phone === null && former.phone !== null ? [existing, former] : [former, existing]
  if (target.phone !== null) retirePhones(people, from, at)
  joinCustomers(people, from, target)
  return target
}
