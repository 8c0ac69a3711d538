import { phoneIdentity } from '../platform/text/phone.ts'
import type { NamedCustomer } from './identify.ts'
import { addIdentity, type Customer, currentUserId, customerOf, isUserId, type People, takePhone } from './people.ts'

/**
 * The identities that the provider reports for the recipient of a message. `requestedIdentity`: an identity that the message
 * was sent to.
 */
export type RecipientReport = NamedCustomer & { readonly requestedIdentity: string | null }

/** Links identities that lead to no customer yet. It never moves an identity: a status may come late. */
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
 * The answer to a send names its recipient. If the number or user id leads to another customer already, the identity that the send
 * named leads there from now on, unless both are known to be two persons.
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

/** Each has one current user id in an account; a number and a user id that are paired otherwise are of two persons. */
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

/** Whether an identity leads to no customer, and never was this customer's. */
const isUnknown = (people: People, { identities }: Customer, identity: string): boolean =>
  customerOf(people, identity) === undefined && !identities.has(identity)
