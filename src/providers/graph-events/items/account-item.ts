import type { AccountEventItem, InboundItem, NumberQualityItem, Placed } from '../../events/event-item.ts'
import {
  type JsonObject,
  listAt,
  memberAt,
  objectAt,
  phoneAt,
  secondsAt,
  textAt,
  userIdAt,
} from '../../events/json-member.ts'
import { type CustomerFinder, LISTED } from '../customer.ts'
import { readError } from '../provider-error.ts'

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
