import { TEXT_LIMIT, WAMID_LIMIT } from '../events/bounds.ts'
import type { InboundMedia, InboundMediaKind, RecordType } from '../events/event-item.ts'
import { EMPTY, idAt, isObject, type JsonObject, memberAt, objectAt, textAt } from '../events/json-member.ts'

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
  const name = [...MEDIA_KINDS.keys()].find((kind) => isObject(memberAt(message, kind)))
  return name === undefined ? EMPTY : objectAt(message, name)
}
