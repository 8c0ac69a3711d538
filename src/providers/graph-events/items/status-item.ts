import type { InboundItem, JsonObject, Placed, Pricing, StatusItem } from '../../events/event-item.ts'
import {
  type GraphExtension,
  idAt,
  listAt,
  memberAt,
  objectAt,
  phoneAt,
  secondsAt,
  textAt,
  userIdAt,
  userIdInPlaceOfPhone,
  WAMID_LIMIT,
} from '../../events/event-reader.ts'
import { readError } from '../message-content.ts'

/** A played voice note counts as read. */
const STATUSES = new Map<string, StatusItem['status']>([
  ['enqueued', 'enqueued'],
  ['sent', 'sent'],
  ['delivered', 'delivered'],
  ['read', 'read'],
  ['played', 'read'],
  ['failed', 'failed'],
])

/** Reads a status, ignoring words without meaning for a message (payments, calls, set-callback). */
export function readStatus(
  status: JsonObject,
  place: (timestamp: number | null) => Placed,
  extension: Pick<GraphExtension, 'messageIdOf' | 'errorOf'>,
): InboundItem {
  const placed = place(secondsAt(status, 'timestamp'))
  const ignored = (reason: string): InboundItem => ({ ...placed, kind: 'ignored', reason })
  const name = STATUSES.get((textAt(status, 'status') ?? '').toLowerCase())
  const type = textAt(status, 'type')
  if (name === undefined) return ignored('a status that says nothing about a message')
  if (type === 'payment' || type === 'call') return ignored(`the status of a ${type}`)
  const wamid = idAt(status, 'id', WAMID_LIMIT)
  const providerMessageId = extension.messageIdOf(status)
  const callbackData = textAt(status, 'biz_opaque_callback_data')
  if (wamid === null && providerMessageId === null && callbackData === null) {
    return ignored('a status that names no message')
  }
  return {
    ...placed,
    kind: 'status',
    status: name,
    ...{ wamid, providerMessageId, callbackData },
    ...readRecipient(status),
    pricing: readPricing(objectAt(status, 'pricing')),
    error: name === 'failed' ? (readError(listAt(status, 'errors')[0]) ?? extension.errorOf(status)) : null,
  }
}

/** In groups the recipient is the group, so uses the participant. */
function readRecipient(status: JsonObject) {
  const name = textAt(status, 'recipient_type') === 'group' ? 'recipient_participant_id' : 'recipient_id'
  return {
    recipientPhone: phoneAt(status, name),
    recipientUserId: userIdAt(status, 'recipient_user_id') ?? userIdInPlaceOfPhone(status, name),
  }
}

const PRICING_LIMIT = 64

function readPricing(pricing: JsonObject): Pricing | null {
  const category = textAt(pricing, 'category', PRICING_LIMIT)?.toLowerCase() ?? null
  const type = textAt(pricing, 'type', PRICING_LIMIT)?.toLowerCase() ?? null
  const value = memberAt(pricing, 'billable')
  const billable = typeof value === 'boolean' ? value : null
  return category === null && type === null && billable === null ? null : { category, type, billable }
}
