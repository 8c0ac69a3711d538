import type { InboundItem, NumberQualityItem, Placed } from '../events/event-item.ts'
import { type JsonObject, objectAt, phoneAt, secondsAt, textAt, userIdAt } from '../events/json-member.ts'
import { type CustomerFinder, LISTED } from './customer.ts'

/** `phone_number_quality_update`. The limit per business replaces the older one per number where both are told. */
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

/** `TIER_2K` is 2000: the ladder changes, its words keep their form. */
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

/** The place of an item, once its time and its contact are known. */
type Placer = (timestamp: number | null, contact: number | null) => Placed

/** One of `user_preferences[]`. */
export function readPreference(preference: JsonObject, place: Placer, findCustomer: CustomerFinder): InboundItem {
  const { customer, contact } = findCustomer(preference, LISTED)
  const placed = place(secondsAt(preference, 'timestamp'), contact)
  const marketing = CHOICES.get((textAt(preference, 'value') ?? '').toLowerCase().replace('_', '-'))
  if (textAt(preference, 'category') !== 'marketing_messages' || marketing === undefined) {
    return { ...placed, kind: 'ignored', reason: 'a preference that is not about marketing messages' }
  }
  return { ...placed, kind: 'preference', customer, marketing }
}

/** One of `user_id_update[]`. */
export function readUserIdUpdate(update: JsonObject, place: Placer, findCustomer: CustomerFinder): InboundItem {
  const { customer, contact } = findCustomer({ wa_id: textAt(update, 'wa_id') }, LISTED)
  const placed = place(secondsAt(update, 'timestamp'), contact)
  const change = objectAt(update, 'user_id')
  const userId = userIdAt(change, 'current')
  if (userId === null) return { ...placed, kind: 'ignored', reason: 'it names no new user id' }
  const previousUserId = userIdAt(change, 'previous')
  return { ...placed, kind: 'user-id-changed', customer: { ...customer, userId }, previousUserId, userId }
}
