import { epochSeconds } from '../clock.ts'
import { titleOf } from '../graph/graph-error.ts'
import type { SendRequest } from '../graph/send-shape.ts'
import { digitsOf, waIdOf } from '../phone.ts'
import type { Accepted, World } from '../world/world.ts'

export type Status = Record<string, unknown>

/** The optional members of a status. `timestamp` is epoch seconds. */
export type StatusDetails = { timestamp?: string | undefined; errors?: unknown[] | undefined }

/** One item of `statuses` about a message that we accepted, with its own callback data and price. */
export function statusOf(world: World, message: Accepted, status: string, at: Date, details: StatusDetails): Status {
  keepStatus(world, message.wamid, status)
  const request: SendRequest & { biz_opaque_callback_data?: string } = JSON.parse(message.body)
  const category = categoryOf(world, message.phoneNumberId, request)
  return {
    id: message.wamid,
    ...(message.gupshup && { gs_id: message.gupshup.id }),
    status,
    timestamp: details.timestamp ?? epochSeconds(at),
    ...(request.to === undefined ? { recipient_user_id: message.to } : recipientOf(world, message)),
    ...(request.biz_opaque_callback_data !== undefined && {
      biz_opaque_callback_data: request.biz_opaque_callback_data,
    }),
    ...(status !== 'failed' && { pricing: pricingOf(category) }),
    ...errorsOf(status, details.errors),
  }
}

function recipientOf(world: World, { phoneNumberId, to }: Accepted) {
  const { waId = waIdOf(to), userId } = world.numbers.get(phoneNumberId)?.customers?.get(digitsOf(to)) ?? {}
  return { recipient_id: waId, ...(userId && { recipient_user_id: userId }) }
}

/** Statuses are kept for the phone page only, so for few messages. */
const STATUSES_KEPT = 1_000

function keepStatus({ statuses, feed }: World, wamid: string, status: string): void {
  const [oldest] = statuses.keys()
  if (statuses.size >= STATUSES_KEPT && oldest !== undefined) statuses.delete(oldest)
  statuses.set(wamid, status)
  feed.publish({ type: 'status', wamid, status })
}

/** A status for an id that we know nothing of: other tools on the same number make such. */
export const strangeStatus = (wamid: string, status: string, at: Date, details: StatusDetails): Status => ({
  id: wamid,
  status,
  timestamp: details.timestamp ?? epochSeconds(at),
  ...errorsOf(status, details.errors),
})

function categoryOf(world: World, phoneNumberId: string, { template }: SendRequest): string {
  const account = world.numbers.get(phoneNumberId)?.wabaAccountId
  if (template === undefined || account === undefined) return 'service'
  return (
    world.templates.find(account, template.name, template.language.code)?.record.category ?? 'UTILITY'
  ).toLowerCase()
}

const pricingOf = (category: string) => ({
  billable: category !== 'service',
  pricing_model: 'PMP',
  type: category === 'service' ? 'free_customer_service' : 'regular',
  category,
})

function errorsOf(status: string, errors: unknown[] | undefined): { errors?: unknown[] } {
  if (errors !== undefined) return { errors }
  if (status !== 'failed') return {}
  const title = titleOf(131000)
  return { errors: [{ code: 131000, title, message: title, error_data: { details: 'Failed as ordered' } }] }
}
