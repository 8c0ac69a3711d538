import { createHash } from 'node:crypto'
import { ID_LIMIT, WAMID_LIMIT } from '../events/bounds.ts'
import type {
  Conversational,
  Customer,
  InboundItem,
  MessageItem,
  NumberChangedItem,
  Placed,
  ReactionItem,
  UserIdChangedItem,
} from '../events/event-item.ts'
import { idAt, type JsonObject, listAt, objectAt, phoneAt, secondsAt, textAt, userIdAt } from '../events/json-member.ts'
import { ADDRESSEE, type CustomerFinder, SENDER } from './customer.ts'
import { providerTypeOf, readContent, wordsOfEdit } from './message-content.ts'
import { readDetails } from './message-details.ts'
import { readError } from './provider-error.ts'

/** Types of messages that the provider sends by itself: no act of the customer, and not forwarded to receivers. */
const NOTICES = new Set(['system', 'request_welcome'])

export type MessagePlace = {
  placed: (timestamp: number | null, contact: number | null) => Placed
  findCustomer: CustomerFinder
  businessPhone: string | null
  isEcho: boolean
}

/** A message, reaction or echo, and before it the change of identity that a system message reports. */
export function readMessage(message: JsonObject, place: MessagePlace): InboundItem[] {
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
    return [{ ...item, kind: 'change', change: providerType, newText: wordsOfEdit(message), opensWindow: false }]
  }
  return change === undefined ? [item] : [change, item]
}

/** The id of a message that comes without one: the same for the same message, so that a repeated body is recognised. */
function deriveWamid(message: JsonObject, { route }: Placed): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([route, message]))
    .digest('base64url')
  return `sha256.${digest}`
}

type Shared = Omit<Conversational, keyof Placed>

function readShared(message: JsonObject, type: string, wamid: string, customer: Customer, place: MessagePlace): Shared {
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

/** A system message that reports a new number or user id is an item of its own, ahead of the message. */
function readIdentityChange(
  message: JsonObject,
  placed: Placed,
  wamid: string,
  customer: Customer,
): NumberChangedItem | UserIdChangedItem | undefined {
  const system = objectAt(message, 'system')
  const own = { ...placed, key: `${placed.key}.change` }
  const type = textAt(system, 'type')
  if (type === 'user_changed_number') {
    const from = phoneAt(message, 'from')
    const to = phoneAt(system, 'wa_id') ?? phoneAt(system, 'new_wa_id')
    if (from === null || to === null || from === to) return undefined
    return { ...own, kind: 'number-changed', wamid, from, to }
  }
  const userId = userIdAt(system, 'user_id')
  if (type !== 'user_changed_user_id' || userId === null) return undefined
  const previous = userIdAt(system, 'previous_user_id') ?? customer.userId
  return { ...own, kind: 'user-id-changed', customer, previousUserId: previous === userId ? null : previous, userId }
}

/** The customer under the new identity: the old one may be another person's by now. */
const changed = (customer: Customer, change: NumberChangedItem | UserIdChangedItem): Customer =>
  change.kind === 'number-changed'
    ? { ...customer, phone: change.to, userId: null }
    : { ...customer, userId: change.userId }
