import { phoneIdentity } from '../platform/text/phone.ts'
import type { NamedCustomer } from './identify.ts'
import { addIdentity, type Customer, currentUserId, customerOf, isUserId, type People, takePhone } from './people.ts'

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
