import { ID_LIMIT } from '../../events/bounds.ts'
import type { HandoverItem, InboundItem, Placed } from '../../events/event-item.ts'
import {
  EMPTY,
  idAt,
  isObject,
  type JsonObject,
  listAt,
  memberAt,
  objectAt,
  phoneAt,
  secondsAt,
  textAt,
  userIdAt,
} from '../../events/json-member.ts'
import { readAccountEvent } from './account-item.ts'

const DETAILS = ['control_passed', 'control_taken', 'control_released']

/** Reads `messaging_handovers`; stays an account event without a customer or owner. */
export function readHandover(value: JsonObject, placed: Placed): InboundItem {
  const customer = readCustomer(value)
  const controlledBy = readOwner(value)
  if (customer === undefined || controlledBy === undefined) return readAccountEvent(value, placed)
  return {
    ...placed,
    kind: 'handover',
    timestamp: secondsAt(value, 'timestamp') ?? placed.timestamp,
    phoneNumberId: idAt(objectAt(value, 'recipient'), 'phone_number_id', ID_LIMIT),
    ...customer,
    controlledBy,
  }
}

/** The new owner, or else whoever did not have the conversation before. */
function readOwner(value: JsonObject): HandoverItem['controlledBy'] | undefined {
  const name = DETAILS.find((one) => isObject(memberAt(value, one)))
  const details = name === undefined ? EMPTY : objectAt(value, name)
  const type = textAt(value, 'type') ?? name ?? ''
  if (/releas|idle/i.test(type)) return null
  const next = ownerOf(details, 'new_owner')
  if (next !== undefined) return next
  const previous = ownerOf(details, 'previous_owner')
  if (previous === 'agent') return 'business'
  return previous === 'business' ? 'agent' : undefined
}

function ownerOf(details: JsonObject, owner: string): HandoverItem['controlledBy'] | undefined {
  const nested = objectAt(details, owner)
  const role =
    textAt(details, `${owner}_role`) ??
    textAt(details, `${owner}_app_role`) ??
    textAt(nested, 'role') ??
    textAt(nested, 'app_role')
  if (role === null) return undefined
  if (/idle|none/i.test(role)) return null
  return /agent|\bai\b/i.test(role) ? 'agent' : 'business'
}

function readCustomer(value: JsonObject): Pick<HandoverItem, 'phone' | 'userId'> | undefined {
  const [contact] = listAt(value, 'contacts')
  const recipient = objectAt(value, 'recipient')
  const places = [
    objectAt(value, 'sender'),
    isObject(contact) ? contact : EMPTY,
    memberAt(recipient, 'phone_number_id') === undefined ? recipient : EMPTY,
    { id: memberAt(value, 'recipient') },
  ]
  for (const place of places) {
    const phone = phoneAt(place, 'phone_number') ?? phoneAt(place, 'wa_id') ?? phoneAt(place, 'id')
    const userId = userIdAt(place, 'user_id') ?? userIdAt(place, 'id')
    if (phone !== null || userId !== null) return { phone, userId }
  }
  return undefined
}
