import { phoneIdentity } from '../../platform/text/phone.ts'
import { NAME_LIMIT } from '../events/bounds.ts'
import type { EventCustomer } from '../events/event-item.ts'
import {
  EMPTY,
  isObject,
  type JsonObject,
  objectAt,
  phoneAt,
  textAt,
  userIdAt,
  userIdInPlaceOfPhone,
} from '../events/json-member.ts'

type IdentityNames = { phone: string; userId: string }

export const SENDER: IdentityNames = { phone: 'from', userId: 'from_user_id' }
export const ADDRESSEE: IdentityNames = { phone: 'to', userId: 'to_user_id' }
export const LISTED: IdentityNames = { phone: 'wa_id', userId: 'user_id' }

type FoundCustomer = { customer: EventCustomer; contact: number | null }
export type CustomerFinder = (item: JsonObject, names: IdentityNames) => FoundCustomer

/**
 * Creates the customer lookup: own identities, completed by the matching contact. Any other contact adds at most a
 * profile name, since its identities belong to another person (decisions: Identity).
 */
export function customerFinder(contacts: readonly unknown[], items: readonly unknown[]): CustomerFinder {
  const byIdentity = indexContacts(contacts)
  const lone = contacts.length === 1 && !items.some((item) => isObject(item) && isListed(byIdentity, item)) ? 0 : null
  return (item, names) => {
    const own = find(byIdentity, item, names)
    const contact = own ?? lone
    const found = contact === null ? EMPTY : asObject(contacts[contact])
    const isSamePerson = own !== null || identitiesOf(item, names).length === 0
    return { customer: toCustomer(item, names, found, isSamePerson), contact }
  }
}

function toCustomer(item: JsonObject, names: IdentityNames, contact: JsonObject, isSamePerson: boolean): EventCustomer {
  const profile = objectAt(contact, 'profile')
  const name = textAt(profile, 'name') ?? textAt(profile, 'username') ?? textAt(contact, 'username')
  const own = isSamePerson ? contact : EMPTY
  return {
    phone: phoneAt(item, names.phone) ?? phoneAt(own, 'wa_id'),
    userId:
      userIdAt(item, names.userId) ??
      userIdInPlaceOfPhone(item, names.phone) ??
      userIdAt(own, 'user_id') ??
      userIdInPlaceOfPhone(own, 'wa_id'),
    profileName: name?.slice(0, NAME_LIMIT).toWellFormed() ?? null,
  }
}

/** Phone numbers and user ids can share a map, because no user id is all digits. */
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

function identitiesOf(object: JsonObject, { phone, userId }: IdentityNames): string[] {
  const number = phoneAt(object, phone)
  return [number === null ? textAt(object, phone) : phoneIdentity(number), userIdAt(object, userId)].filter(
    (identity) => identity !== null,
  )
}

const asObject = (value: unknown): JsonObject => (isObject(value) ? value : EMPTY)
