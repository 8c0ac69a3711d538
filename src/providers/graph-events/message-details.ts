import { TEXT_LIMIT } from '../events/bounds.ts'
import { isObject, isoAt, type JsonObject, listAt, memberAt, objectAt, textAt } from '../events/json-member.ts'
import type { CallPermission, MessageDetails, Reply } from '../events/message-details.ts'

/** Reads a message's details; null if missing or over 65,536 characters, when only `raw` has them. */
export function readDetails(message: JsonObject): MessageDetails {
  const contacts = listAt(message, 'contacts').filter(isObject)
  const context = objectAt(message, 'context')
  const frequentlyForwarded = memberAt(context, 'frequently_forwarded') === true
  return {
    reply: readReply(message),
    referral: detailAt(message, 'referral'),
    forwarded: frequentlyForwarded || memberAt(context, 'forwarded') === true,
    frequentlyForwarded,
    referredProduct: detailAt(context, 'referred_product'),
    location: detailAt(message, 'location'),
    contacts: contacts.length > 0 && isWithinLimit(contacts) ? contacts : null,
    order: detailAt(message, 'order'),
    call: null,
  }
}

function readReply(message: JsonObject): Reply | null {
  const interactive = objectAt(message, 'interactive')
  const chosen = memberAt(interactive, 'button_reply') ?? memberAt(interactive, 'list_reply')
  const flow = memberAt(interactive, 'nfm_reply')
  const permission = memberAt(interactive, 'call_permission_reply')
  const button = memberAt(message, 'button')
  if (isObject(chosen)) {
    const [id, title] = [textAt(chosen, 'id'), textAt(chosen, 'title')]
    return { ...NO_REPLY, id, title, description: textAt(chosen, 'description') }
  }
  if (isObject(flow)) {
    return { ...NO_REPLY, title: textAt(flow, 'body'), responseJson: wholeTextAt(flow, 'response_json') }
  }
  if (isObject(permission)) return { ...NO_REPLY, callPermission: readCallPermission(permission) }
  if (!isObject(button)) return null
  return { ...NO_REPLY, title: textAt(button, 'text'), payload: wholeTextAt(button, 'payload') }
}

const NO_REPLY: Reply = {
  id: null,
  title: null,
  description: null,
  payload: null,
  responseJson: null,
  callPermission: null,
}

function readCallPermission(permission: JsonObject): CallPermission {
  const isPermanent = memberAt(permission, 'is_permanent')
  return {
    response: textAt(permission, 'response'),
    source: textAt(permission, 'response_source'),
    isPermanent: typeof isPermanent === 'boolean' ? isPermanent : null,
    expiresAt: isoAt(permission, 'expiration_timestamp'),
  }
}

function detailAt(message: JsonObject, name: string): JsonObject | null {
  const value = memberAt(message, name)
  return isObject(value) && isWithinLimit(value) ? value : null
}

const isWithinLimit = (value: object): boolean => JSON.stringify(value).length <= TEXT_LIMIT

function wholeTextAt(object: JsonObject, name: string): string | null {
  const text = textAt(object, name, TEXT_LIMIT + 1)
  return text === null || text.length > TEXT_LIMIT ? null : text
}
