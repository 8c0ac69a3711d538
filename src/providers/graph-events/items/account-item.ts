import { isRecord } from '../../../platform/text/json-text.ts'
import type {
  AccountEventItem,
  HandoverItem,
  InboundItem,
  JsonObject,
  NumberQualityItem,
  Placed,
} from '../../events/event-item.ts'
import {
  EMPTY,
  ID_LIMIT,
  idAt,
  listAt,
  memberAt,
  objectAt,
  phoneAt,
  secondsAt,
  textAt,
  userIdAt,
} from '../../events/event-reader.ts'
import { readError } from '../message-content.ts'
import { type CustomerFinder, LISTED } from './message-item.ts'

/** Reads `phone_number_quality_update`. The business limit takes precedence over the older number limit. */
export function readNumberQuality(value: JsonObject, placed: Placed): InboundItem {
  const limit = textAt(value, 'max_daily_conversations_per_business') ?? textAt(value, 'current_limit')
  return {
    ...placed,
    kind: 'number-quality',
    displayPhone: phoneAt(value, 'display_phone_number'),
    event: textAt(value, 'event')?.toUpperCase() ?? null,
    dailyLimit: toDailyLimit(limit),
    limit,
  }
}

/** Kinds without customer data. The journal must not keep details for any other kind. */
const ACCOUNT_FIELDS = new Set([
  'account_alerts',
  'account_offboarded',
  'account_reconnected',
  'account_review_update',
  'account_settings_update',
  'account_update',
  'business_capability_update',
  'business_username_updates',
  'partner_solutions',
  'payment_configuration_update',
  'phone_number_name_update',
  'security',
])

/** Reads an account event for the journal. */
export function readAccountEvent(value: JsonObject, placed: Placed): InboundItem {
  const field = placed.field ?? ''
  const event = textAt(value, 'event') ?? textAt(value, 'alert_type') ?? textAt(value, 'decision')
  return {
    ...placed,
    kind: 'account-event',
    event: event?.toUpperCase() ?? null,
    severity: severityOf(field, event?.toUpperCase() ?? '', value),
    details: ACCOUNT_FIELDS.has(field) ? value : errorsOf(field, value),
    dailyLimit: field === 'business_capability_update' ? readCapability(value) : null,
    signsMarketingTerms: field === 'account_update' && event?.toUpperCase() === 'MM_LITE_TERMS_SIGNED',
  }
}

const errorsOf = (field: string, value: JsonObject): JsonObject | null =>
  field === 'errors'
    ? {
        errors: listAt(value, 'errors')
          .map(readError)
          .filter((error) => error !== null),
      }
    : null

const CRITICAL = new Set(['ACCOUNT_RESTRICTION', 'ACCOUNT_VIOLATION', 'ACCOUNT_DELETED', 'ACCOUNT_OFFBOARDED'])

/** Critical: the account can't send, or soon won't be able to. */
function severityOf(field: string, event: string, value: JsonObject): AccountEventItem['severity'] {
  if (field === 'account_offboarded' || CRITICAL.has(event)) return 'critical'
  if (event === 'DISABLED_UPDATE') {
    return textAt(objectAt(value, 'ban_info'), 'waba_ban_state')?.toUpperCase() === 'REINSTATE' ? 'info' : 'critical'
  }
  const alert = textAt(value, 'alert_severity')?.toUpperCase()
  if (alert === 'CRITICAL') return 'critical'
  return alert === 'WARNING' || field === 'security' || event === 'REJECTED' ? 'warning' : 'info'
}

/** A count or tier; -1 means unlimited. */
function readCapability(value: JsonObject): NumberQualityItem['dailyLimit'] {
  for (const name of ['max_daily_conversations_per_business', 'max_daily_conversation_per_phone']) {
    const count = memberAt(value, name)
    if (count === -1) return 'unlimited'
    if (typeof count === 'number' && Number.isSafeInteger(count) && count > 0) return count
    const limit = toDailyLimit(textAt(value, name))
    if (limit !== null) return limit
  }
  return null
}

/** Parses any tier: `TIER_2K` is 2000. */
function toDailyLimit(limit: string | null): NumberQualityItem['dailyLimit'] {
  if (limit === 'TIER_UNLIMITED') return 'unlimited'
  const [, count, unit] = /^TIER_([0-9]{1,6})([KM]?)$/.exec(limit ?? '') ?? []
  if (count === undefined) return null
  return Number(count) * (unit === 'M' ? 1_000_000 : unit === 'K' ? 1000 : 1)
}

const CHOICES = new Map<string, 'stop' | 'resume'>([
  ['stop', 'stop'],
  ['opt-out', 'stop'],
  ['resume', 'resume'],
  ['opt-in', 'resume'],
])

type Placer = (timestamp: number | null, contact: number | null) => Placed

/** Reads an entry in `user_preferences[]`. */
export function readPreference(preference: JsonObject, place: Placer, findCustomer: CustomerFinder): InboundItem {
  const { customer, contact } = findCustomer(preference, LISTED)
  const placed = place(secondsAt(preference, 'timestamp'), contact)
  const marketing = CHOICES.get((textAt(preference, 'value') ?? '').toLowerCase().replace('_', '-'))
  if (textAt(preference, 'category') !== 'marketing_messages' || marketing === undefined) {
    return { ...placed, kind: 'ignored', reason: 'a preference that is not about marketing messages' }
  }
  return { ...placed, kind: 'preference', customer, marketing }
}

/** Reads an entry in `user_id_update[]`. */
export function readUserIdUpdate(update: JsonObject, place: Placer, findCustomer: CustomerFinder): InboundItem {
  const { customer, contact } = findCustomer({ wa_id: textAt(update, 'wa_id') }, LISTED)
  const placed = place(secondsAt(update, 'timestamp'), contact)
  const change = objectAt(update, 'user_id')
  const userId = userIdAt(change, 'current')
  if (userId === null) return { ...placed, kind: 'ignored', reason: 'no new user id' }
  const previous = userIdAt(change, 'previous')
  const previousUserIds = previous === null || previous === userId ? [] : [previous]
  return { ...placed, kind: 'user-id-changed', wamid: null, customer: { ...customer, userId }, previousUserIds, userId }
}

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
  const name = DETAILS.find((one) => isRecord(memberAt(value, one)))
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
    isRecord(contact) ? contact : EMPTY,
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
