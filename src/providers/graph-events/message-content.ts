import { isRecord } from '../../platform/text/json-text.ts'
import type {
  CallPermission,
  InboundMedia,
  InboundMediaKind,
  JsonObject,
  MessageDetails,
  RecordType,
  Reply,
  ReportedError,
} from '../events/event-item.ts'
import {
  EMPTY,
  idAt,
  isoAt,
  listAt,
  memberAt,
  objectAt,
  TEXT_LIMIT,
  textAt,
  WAMID_LIMIT,
} from '../events/event-reader.ts'

const MEDIA_KINDS = new Map<string, InboundMediaKind>([
  ['image', 'image'],
  ['sticker', 'image'],
  ['video', 'video'],
  ['audio', 'audio'],
  ['voice', 'audio'],
  ['document', 'document'],
])

const CONTENT_NAMES = [
  'text',
  ...MEDIA_KINDS.keys(),
  'location',
  'contacts',
  'reaction',
  'interactive',
  'button',
  'order',
  'system',
  'edit',
  'revoke',
]

const TYPE_LIMIT = 64

export type MessageContent = {
  type: string
  text: string
  media: InboundMedia | null
  recordType: RecordType
  recordText: string
}

/** Returns the provider's type, or else the content member's name. */
export const providerTypeOf = (message: JsonObject): string =>
  textAt(message, 'type', TYPE_LIMIT) ??
  CONTENT_NAMES.find((name) => memberAt(message, name) !== undefined) ??
  'unknown'

/**
 * Reads text and type for receivers (spec: Envelope) and for the conversation, which also shows location, order and
 * system text (decisions: Conversations and messages).
 */
export function readContent(message: JsonObject, providerType: string): MessageContent {
  const media = readMedia(message, providerType)
  const type = media?.kind ?? providerType
  const placeholder = `[${providerType === 'sticker' ? 'sticker' : nameOf(message, type)}]`
  const text = media ? media.caption : textForReceivers(message)
  return {
    type,
    text: text ?? placeholder,
    media,
    recordType: media?.kind ?? 'text',
    recordText: text ?? (media ? null : textForConversation(message)) ?? placeholder,
  }
}

function nameOf(message: JsonObject, type: string): string {
  if (type === 'interactive') return textAt(objectAt(message, 'interactive'), 'type', TYPE_LIMIT) ?? type
  const kind = type === 'unsupported' ? textAt(objectAt(message, 'unsupported'), 'type', TYPE_LIMIT) : null
  return kind === null || kind === 'unknown' ? type : `${type}: ${kind}`
}

function readMedia(message: JsonObject, providerType: string): InboundMedia | null {
  const kind = MEDIA_KINDS.get(providerType)
  if (kind === undefined) return null
  const body = objectAt(message, providerType)
  return {
    kind,
    mimeType: textAt(body, 'mime_type'),
    filename: textAt(body, 'filename'),
    caption: textAt(body, 'caption', TEXT_LIMIT),
    voice: providerType === 'voice' || memberAt(body, 'voice') === true,
    providerMediaId: idAt(body, 'id', WAMID_LIMIT),
    url: textAt(body, 'url'),
  }
}

const textForReceivers = (message: JsonObject): string | null => ownText(message) ?? textOfEdit(message)

function ownText(message: JsonObject): string | null {
  const interactive = objectAt(message, 'interactive')
  return (
    textAt(objectAt(message, 'text'), 'body', TEXT_LIMIT) ??
    textAt(objectAt(message, 'button'), 'text') ??
    textAt(objectAt(interactive, 'button_reply'), 'title') ??
    textAt(objectAt(interactive, 'list_reply'), 'title') ??
    textAt(objectAt(interactive, 'nfm_reply'), 'body', TEXT_LIMIT) ??
    textAt(objectAt(interactive, 'body'), 'text', TEXT_LIMIT)
  )
}

function textForConversation(message: JsonObject): string | null {
  return (
    textAt(objectAt(message, 'location'), 'name') ??
    textAt(objectAt(message, 'order'), 'text', TEXT_LIMIT) ??
    textAt(objectAt(message, 'system'), 'body', TEXT_LIMIT)
  )
}

/** Returns an edited message's text or caption. */
export function textOfEdit(message: JsonObject): string | null {
  const edited = objectAt(objectAt(message, 'edit'), 'message')
  return ownText(edited) ?? textAt(mediaBodyOf(edited), 'caption', TEXT_LIMIT)
}

function mediaBodyOf(message: JsonObject): JsonObject {
  const name = [...MEDIA_KINDS.keys()].find((kind) => isRecord(memberAt(message, kind)))
  return name === undefined ? EMPTY : objectAt(message, name)
}

/** Reads a message's details; null if missing or over 65,536 characters, when only `raw` has them. */
export function readDetails(message: JsonObject): MessageDetails {
  const contacts = listAt(message, 'contacts').filter(isRecord)
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
  if (isRecord(chosen)) {
    const [id, title] = [textAt(chosen, 'id'), textAt(chosen, 'title')]
    return { ...NO_REPLY, id, title, description: textAt(chosen, 'description') }
  }
  if (isRecord(flow)) {
    return { ...NO_REPLY, title: textAt(flow, 'body'), responseJson: wholeTextAt(flow, 'response_json') }
  }
  if (isRecord(permission)) return { ...NO_REPLY, callPermission: readCallPermission(permission) }
  if (!isRecord(button)) return null
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
  return isRecord(value) && isWithinLimit(value) ? value : null
}

const isWithinLimit = (value: object): boolean => JSON.stringify(value).length <= TEXT_LIMIT

function wholeTextAt(object: JsonObject, name: string): string | null {
  const text = textAt(object, name, TEXT_LIMIT + 1)
  return text === null || text.length > TEXT_LIMIT ? null : text
}

/** Reads an element of `errors[]`. */
export function readError(error: unknown): ReportedError | null {
  if (!isRecord(error)) return null
  const title = textAt(error, 'title') ?? textAt(error, 'message')
  const message = textAt(error, 'message')
  return {
    code: codeAt(error),
    title,
    details:
      textAt(objectAt(error, 'error_data'), 'details') ??
      textAt(error, 'details') ??
      (message === title ? null : message),
  }
}

/** Returns the numeric `code`, or null. */
export function codeAt(object: JsonObject): number | null {
  const code = Number(textAt(object, 'code') ?? Number.NaN)
  return Number.isSafeInteger(code) ? code : null
}
