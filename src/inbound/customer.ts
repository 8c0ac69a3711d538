import { NAME_LIMIT } from './bounds.ts'
import type { Customer } from './inbound-item.ts'
import {
  EMPTY,
  isObject,
  type JsonObject,
  objectAt,
  phoneAt,
  textAt,
  userIdAt,
  userIdInPlaceOfPhone,
} from './json-member.ts'

/** The members in which an item names its customer: an echo's is the one written to. */
export type IdentityNames = { phone: string; userId: string }

export const SENDER: IdentityNames = { phone: 'from', userId: 'from_user_id' }
export const ADDRESSEE: IdentityNames = { phone: 'to', userId: 'to_user_id' }
export const LISTED: IdentityNames = { phone: 'wa_id', userId: 'user_id' }

export type FoundCustomer = { customer: Customer; contact: number | null }
export type CustomerFinder = (item: JsonObject, names: IdentityNames) => FoundCustomer

/**
 * Finds the customer of each item of one value: who the item says, completed from the contact that is his. The contacts
 * stand in any order; the only contact belongs to whoever is no one else's, so that nobody takes another's name.
 */
export function customerFinder(contacts: readonly unknown[], items: readonly unknown[]): CustomerFinder {
  const byIdentity = indexContacts(contacts)
  const lone = contacts.length === 1 && !items.some((item) => isObject(item) && isListed(byIdentity, item)) ? 0 : null
  return (item, names) => {
    const contact = find(byIdentity, item, names) ?? lone
    return { customer: toCustomer(item, names, contact === null ? EMPTY : asObject(contacts[contact])), contact }
  }
}

function toCustomer(item: JsonObject, names: IdentityNames, contact: JsonObject): Customer {
  const profile = objectAt(contact, 'profile')
  const nameAt = (object: JsonObject, member: string) => textAt(object, member, NAME_LIMIT)
  return {
    phone: phoneAt(item, names.phone) ?? phoneAt(contact, 'wa_id'),
    userId:
      userIdAt(item, names.userId) ??
      userIdInPlaceOfPhone(item, names.phone) ??
      userIdAt(contact, 'user_id') ??
      userIdInPlaceOfPhone(contact, 'wa_id'),
    profileName: nameAt(profile, 'name') ?? nameAt(profile, 'username') ?? nameAt(contact, 'username'),
  }
}

/** Phone numbers and user ids share the map: no user id is digits alone. */
function indexContacts(contacts: readonly unknown[]): Map<string, number> {
  const byIdentity = new Map<string, number>()
  contacts.forEach((contact, index) => {
    for (const identity of isObject(contact) ? identitiesOf(contact, LISTED) : []) {
      if (!byIdentity.has(identity)) byIdentity.set(identity, index)
    }
  })
  return byIdentity
}

function find(byIdentity: Map<string, number>, item: JsonObject, names: IdentityNames): number | null {
  for (const identity of identitiesOf(item, names)) {
    const index = byIdentity.get(identity)
    if (index !== undefined) return index
  }
  return null
}

const isListed = (byIdentity: Map<string, number>, item: JsonObject): boolean =>
  find(byIdentity, item, SENDER) !== null || find(byIdentity, item, ADDRESSEE) !== null

const identitiesOf = (object: JsonObject, { phone, userId }: IdentityNames): string[] =>
  [phoneAt(object, phone) ?? textAt(object, phone), userIdAt(object, userId)].filter((identity) => identity !== null)

const asObject = (value: unknown): JsonObject => (isObject(value) ? value : EMPTY)
