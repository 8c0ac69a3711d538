import { createHash } from 'node:crypto'
import { isRecord } from '../../../platform/text/json-text.ts'
import { phoneIdentity } from '../../../platform/text/phone.ts'
import type {
  Conversational,
  EventCustomer,
  InboundItem,
  JsonObject,
  MessageItem,
  NumberChangedItem,
  Placed,
  ReactionItem,
  UserIdChangedItem,
} from '../../events/event-item.ts'
import {
  EMPTY,
  ID_LIMIT,
  idAt,
  listAt,
  memberAt,
  NAME_LIMIT,
  objectAt,
  phoneAt,
  secondsAt,
  textAt,
  userIdAt,
  userIdInPlaceOfPhone,
  WAMID_LIMIT,
} from '../../events/event-reader.ts'
import { providerTypeOf, readContent, readDetails, readError, textOfEdit } from '../message-content.ts'

/** Sent by the provider, not the customer; not forwarded to receivers. */
const NOTICES = new Set(['system', 'request_welcome'])

export type MessagePlace = {
  placed: (timestamp: number | null, contact: number | null) => Placed
  findCustomer: CustomerFinder
  businessPhone: string | null
  isEcho: boolean
}

/** Reads a message, reaction or echo, preceded by any identity change reported in a system message. */
export function readMessage(element: JsonObject, place: MessagePlace): InboundItem[] {
  const message = place.isEcho ? messageOfEcho(element) : element
  const providerType = providerTypeOf(message)
  const { customer, contact } = place.findCustomer(message, place.isEcho ? ADDRESSEE : SENDER)
  const placed = place.placed(secondsAt(message, 'timestamp'), contact)
  const wamid = idAt(message, 'id', WAMID_LIMIT) ?? deriveWamid(message, placed)
  const change = providerType === 'system' ? readIdentityChange(message, placed, wamid, customer) : undefined
  const writer = change === undefined ? customer : changed(customer, change)
  const shared = readShared(message, providerType, wamid, writer, place)
  if (providerType === 'reaction') return [{ ...placed, ...shared, ...readReaction(message) }]
  const item: MessageItem = { ...placed, ...shared, ...readOwnMessage(message, providerType) }
  if (providerType === 'edit' || providerType === 'revoke') {
    return [{ ...item, kind: 'change', change: providerType, newText: textOfEdit(message), opensWindow: false }]
  }
  return change === undefined ? [item] : [change, item]
}

/** Under `standby`, an echo contains the send request, with the user id as `recipient`. */
function messageOfEcho(echo: JsonObject): JsonObject {
  const request = memberAt(echo, 'message')
  if (!isRecord(request)) return echo
  const { id, timestamp } = echo
  const quoted = memberAt(objectAt(request, 'context'), 'message_id')
  return { ...request, id, timestamp, to_user_id: request.recipient, context: { id: quoted } }
}

/** Derives a stable id for a message without one, so that repeated bodies are deduplicated. */
export function deriveWamid(message: JsonObject, { route }: Placed): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([route, message]))
    .digest('base64url')
  return `sha256.${digest}`
}

type Shared = Omit<Conversational, keyof Placed>

function readShared(
  message: JsonObject,
  type: string,
  wamid: string,
  customer: EventCustomer,
  place: MessagePlace,
): Shared {
  const { businessPhone, isEcho } = place
  const groupId = idAt(message, 'group_id', ID_LIMIT)
  const isNotice = NOTICES.has(type)
  return {
    wamid,
    customer,
    businessPhone,
    isEcho,
    opensWindow: !isNotice && !isEcho && groupId === null,
    isForwarded: !isNotice,
    groupId,
  }
}

function readOwnMessage(message: JsonObject, providerType: string): Omit<MessageItem, keyof Conversational> {
  return {
    kind: 'message',
    providerType,
    ...readContent(message, providerType),
    quotedWamid: idAt(objectAt(message, 'context'), 'id', WAMID_LIMIT),
    originalWamid:
      idAt(objectAt(message, 'edit'), 'original_message_id', WAMID_LIMIT) ??
      idAt(objectAt(message, 'revoke'), 'original_message_id', WAMID_LIMIT),
    details: readDetails(message),
    error: readError(listAt(message, 'errors')[0]),
  }
}

function readReaction(message: JsonObject): Omit<ReactionItem, keyof Conversational> {
  const reaction = objectAt(message, 'reaction')
  return { kind: 'reaction', targetWamid: idAt(reaction, 'message_id', WAMID_LIMIT), emoji: textAt(reaction, 'emoji') }
}

function readIdentityChange(
  message: JsonObject,
  placed: Placed,
  wamid: string,
  customer: EventCustomer,
): NumberChangedItem | UserIdChangedItem | undefined {
  const system = objectAt(message, 'system')
  const own = { ...placed, key: `${placed.key}.change`, wamid }
  const type = textAt(system, 'type')
  const userId = userIdAt(system, 'user_id')
  const previousUserIds = ['previous_user_id', 'previous_parent_user_id']
    .map((name) => userIdAt(system, name))
    .filter((previous) => previous !== null)
    .filter((previous) => previous !== userId)
  const to = phoneAt(system, 'wa_id') ?? phoneAt(system, 'new_wa_id')
  if (type === 'user_changed_number' && to !== null) {
    const from = phoneAt(message, 'from')
    if (from === to || (from === null && previousUserIds.length === 0)) return undefined
    return { ...own, kind: 'number-changed', from, to, previousUserIds, userId }
  }
  if ((type !== 'user_changed_user_id' && type !== 'user_changed_number') || userId === null) return undefined
  if (previousUserIds.length === 0 && customer.userId !== null && customer.userId !== userId) {
    previousUserIds.push(customer.userId)
  }
  const shown = { ...customer, phone: customer.phone ?? to }
  return { ...own, kind: 'user-id-changed', customer: shown, previousUserIds, userId }
}

/** The old identity may belong to another person by now. */
const changed = (customer: EventCustomer, change: NumberChangedItem | UserIdChangedItem): EventCustomer =>
  change.kind === 'number-changed'
    ? { ...customer, phone: change.to, userId: change.userId }
    : { ...change.customer, userId: change.userId }

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
  const lone = contacts.length === 1 && !items.some((item) => isRecord(item) && isListed(byIdentity, item)) ? 0 : null
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
    for (const identity of isRecord(contact) ? identitiesOf(contact, LISTED) : []) {
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

const asObject = (value: unknown): JsonObject => (isRecord(value) ? value : EMPTY)
