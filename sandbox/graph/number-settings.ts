import { type Answer, jsonAnswer } from '../answer.ts'
import { waIdOf } from '../phone.ts'
import type { PhoneNumber } from '../world/account.ts'
import { refuse } from './graph-error.ts'

/** Blocked customers per number at most. */
const BLOCK_LIMIT = 1_000
const PROFILE_FIELDS = ['about', 'address', 'description', 'email', 'profile_picture_url', 'vertical', 'websites']

/** `GET /{phone-number-id}/whatsapp_business_profile` */
export const readProfile = ({ profile = {} }: PhoneNumber): Answer =>
  jsonAnswer({ data: [{ messaging_product: 'whatsapp', ...profile }] })

/** `POST /{phone-number-id}/whatsapp_business_profile`: changes the members of the body. */
export function changeProfile(number: PhoneNumber, body: Record<string, unknown>, trace: string): Answer {
  const { messaging_product: product, ...change } = body
  if (product !== 'whatsapp') return refuse({ code: 100, details: 'messaging_product must be whatsapp' }, trace)
  const unknown = Object.keys(change).find((name) => !PROFILE_FIELDS.includes(name))
  if (unknown !== undefined) return refuse({ code: 100, details: `Unexpected key "${unknown}"` }, trace)
  number.profile = { ...number.profile, ...change }
  return jsonAnswer({ success: true })
}

/** `GET /{phone-number-id}/block_users` */
export const listBlocked = ({ blocked = new Set() }: PhoneNumber): Answer =>
  jsonAnswer({ data: [...blocked].map((waId) => ({ messaging_product: 'whatsapp', wa_id: waId })) })

/** `POST` and `DELETE /{phone-number-id}/block_users`: `{"block_users":[{"user":"+39…"}]}`. */
export function changeBlocked(
  number: PhoneNumber,
  method: string,
  body: Record<string, unknown>,
  trace: string,
): Answer {
  const users = Array.isArray(body.block_users) ? body.block_users.map((one) => String(Object(one).user ?? '')) : []
  if (users.length === 0 || users.some((user) => waIdOf(user) === '')) {
    return refuse({ code: 100, details: 'block_users must name at least one user' }, trace)
  }
  number.blocked ??= new Set()
  if (method === 'POST' && number.blocked.size + users.length > BLOCK_LIMIT) {
    return refuse({ code: 139100, details: `At most ${BLOCK_LIMIT} users can be blocked` }, trace)
  }
  for (const user of users) {
    if (method === 'POST') number.blocked.add(waIdOf(user))
    else number.blocked.delete(waIdOf(user))
  }
  const changed = users.map((user) => ({ input: user, wa_id: waIdOf(user) }))
  const name = method === 'POST' ? 'added_users' : 'removed_users'
  return jsonAnswer({ messaging_product: 'whatsapp', block_users: { [name]: changed } })
}
