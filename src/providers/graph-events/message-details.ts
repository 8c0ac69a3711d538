import { TEXT_LIMIT } from '../events/bounds.ts'
import type { MessageDetails, Reply } from '../events/event-item.ts'
import { isObject, type JsonObject, listAt, memberAt, objectAt, textAt } from '../events/json-member.ts'

/** Each detail of one message; null where it is absent, or longer than 65,536 characters: then only `raw` has it. */
export function readDetails(message: JsonObject): MessageDetails {
  const contacts = listAt(message, 'contacts').filter(isObject)
  return {
    reply: readReply(message),
    referral: detailAt(message, 'referral'),
    location: detailAt(message, 'location'),
    contacts: contacts.length > 0 && isWithinLimit(contacts) ? contacts : null,
    order: detailAt(message, 'order'),
  }
}

function readReply(message: JsonObject): Reply | null {
  const interactive = objectAt(message, 'interactive')
  const chosen = memberAt(interactive, 'button_reply') ?? memberAt(interactive, 'list_reply')
  const flow = memberAt(interactive, 'nfm_reply')
  const button = memberAt(message, 'button')
  const reply: Reply = { id: null, title: null, payload: null, responseJson: null }
  if (isObject(chosen)) return { ...reply, id: textAt(chosen, 'id'), title: textAt(chosen, 'title') }
  if (isObject(flow)) return { ...reply, title: textAt(flow, 'body'), responseJson: wholeTextAt(flow, 'response_json') }
  return isObject(button) ? { ...reply, title: textAt(button, 'text'), payload: wholeTextAt(button, 'payload') } : null
}

function detailAt(message: JsonObject, name: string): JsonObject | null {
  const value = memberAt(message, name)
  return isObject(value) && isWithinLimit(value) ? value : null
}

const isWithinLimit = (value: object): boolean => JSON.stringify(value).length <= TEXT_LIMIT

/** A text that is worthless when truncated. */
function wholeTextAt(object: JsonObject, name: string): string | null {
  const text = textAt(object, name, TEXT_LIMIT + 1)
  return text === null || text.length > TEXT_LIMIT ? null : text
}
