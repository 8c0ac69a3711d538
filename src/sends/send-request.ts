import type { Conversation } from '../conversations/list/conversation-list-store.ts'
import type { Db } from '../db/connect.ts'
import type { RequestFault } from '../http/errors/fault.ts'
import { findKnownPhones } from '../people/matching/identity-store.ts'
import {
  type AppError,
  badRequest,
  type FieldFault,
  invalidPhoneNumber,
  missingRecipient,
  validationError,
} from '../platform/errors.ts'
import { memberOf } from '../platform/text/json-text.ts'
import { readPhone, USER_ID } from '../platform/text/phone.ts'
import type { DirectSend } from '../providers/provider.ts'
import type { SenderName } from '../senders/sender.ts'
import type { ComponentInput } from '../templates/fill-components.ts'
import { type ContactCard, contactCardFaults } from './content/contact-cards-shape.ts'
import type { Interactive } from './content/interactive-shape.ts'
import { interactiveFaults } from './content/interactive-shape.ts'
import { type Reaction, reactionFaults } from './content/reaction-shape.ts'
import type { Location } from './send-shape.ts'
import { type ContentBody, LONGEST_TTL_SECONDS, type MEDIA_KINDS, OWN_MEMBERS, type SendBody } from './send-shape.ts'

type OutboundMediaKind = (typeof MEDIA_KINDS)[number]
const CAPTIONED: ReadonlySet<string> = new Set(['image', 'video', 'document'])
const WITH_CATEGORY: ReadonlySet<string> = new Set(['text', 'interactive'])

/** Direct Send, by provider: its longest text, and interactive kinds that need no template. */
const LONGEST_DIRECT_TEXT = 1_024
const DIRECT_INTERACTIVE: ReadonlySet<string> = new Set(['button', 'cta_url'])

const VOICE_ENDINGS: ReadonlySet<string> = new Set(['ogg', 'oga', 'opus'])

export const CONTACT_SOURCE = 'WhatsApp'

const MEMBERS = [...OWN_MEMBERS, 'media'] as const

type SendFault = FieldFault & { readonly kind: 'shape' | 'value' }

type MediaSource = { link: string } | { providerMediaId: string } | { mediaId: string }

export type SendContent =
  | { type: 'text'; text: string; previewUrl: boolean | undefined }
  | {
      type: 'template'
      family: { id: string } | { name: string }
      languageCode: string | undefined
      components: readonly ComponentInput[]
    }
  | {
      type: OutboundMediaKind
      source: MediaSource
      caption: string | undefined
      filename: string | undefined
      isVoice: boolean
    }
  | { type: 'interactive'; interactive: Interactive }
  | { type: 'location'; location: Location }
  | { type: 'contacts'; contacts: readonly ContactCard[] }
  | { type: 'reaction'; reaction: Reaction }

export type SendRequest = {
  /** Digits, or a provider's user id. */
  recipient: string
  content: SendContent
  sender: SenderName | undefined
  /** Replies only; null: the sender-customer conversation. */
  conversationId: number | null
  contactSource: string
  quoted: number | undefined
  /** Null: needs a template or window. */
  directSend: DirectSend | null
}

/** Builds a request (spec: send; decisions: WhatsApp send); 400 for absent or conflicting fields, 422 for bad links. */
export function parseSend(body: SendBody): SendRequest {
  const faults = sendBodyFaults(body)
  const refusal = refuseSend(faults, body)
  if (refusal !== undefined) throw refusal
  return {
    recipient: readRecipient(body.recipient),
    content: parseContent(body, faults),
    sender: body.sender,
    conversationId: null,
    contactSource: body.contactSource ?? CONTACT_SOURCE,
    quoted: body.quoted,
    directSend: directSendOf(body),
  }
}

export function parseContent(body: ContentBody, faults: readonly SendFault[] = sendFaults(body)): SendContent {
  const isShape = faults.some(({ kind }) => kind === 'shape')
  if (isShape) throw badRequest(faults.map(({ path, message }) => `${path} ${message}`).join('; '), toFields(faults))
  if (faults.length > 0) throw validationError(toFields(faults))
  return contentOf(body)
}

function contentOf(body: ContentBody): SendContent {
  const { type, text = '', template, interactive, location, contacts = [], reaction } = body
  switch (type) {
    case 'text':
      return { type, text, previewUrl: body.previewUrl }
    case 'template': {
      const { id, name = '', languageCode, components = [] } = template ?? {}
      return { type, family: id === undefined ? { name } : { id }, languageCode, components }
    }
    case 'interactive':
      return { type, interactive: required(interactive) }
    case 'location':
      return { type, location: required(location) }
    case 'contacts':
      return { type, contacts }
    case 'reaction':
      return { type, reaction: required(reaction) }
    default:
      return mediaOf(type, body.media ?? {})
  }
}

/** Should never throw: `sendFaults` has checked presence. */
function required<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('A body without its content was admitted')
  return value
}

function mediaOf(type: OutboundMediaKind, media: NonNullable<ContentBody['media']>): SendContent {
  const { link, mediaId, providerMediaId = '', caption, filename, voice = false } = media
  return {
    type,
    source: mediaId !== undefined ? { mediaId } : link !== undefined ? { link } : { providerMediaId },
    caption: caption === '' ? undefined : caption,
    filename: type === 'document' && filename !== '' ? filename : undefined,
    isVoice: voice,
  }
}

export function sendBodyFaults(body: Partial<SendBody>, input: object = body): SendFault[] {
  const fault = body.recipient === undefined ? undefined : recipientFault(body.recipient)
  return [...(fault === undefined ? [] : [{ ...fault, kind: 'value' as const }]), ...sendFaults(body, input)]
}

/** Returns faults beyond the shape. Misfit members of `input` still count as given. */
export function sendFaults(body: Partial<ContentBody>, input: object = body): SendFault[] {
  const { media, interactive, contacts, reaction } = body
  const isPlain = media?.link !== undefined && !isHttps(media.link)
  const faults: FieldFault[] = [
    ...(isPlain ? [{ path: 'media.link', message: 'must be an https address' }] : []),
    ...(media?.voice === true ? voiceFaults(body.type, media.link) : []),
    ...(interactive === undefined ? [] : interactiveFaults(interactive)),
    ...(contacts === undefined ? [] : contactCardFaults(contacts)),
    ...(reaction === undefined ? [] : reactionFaults(reaction)),
    ...directSendFaults(body),
  ]
  return [...combinationFaults(body, input), ...faults.map((fault) => ({ ...fault, kind: 'value' as const }))]
}

/** A link shows only its extension. */
function voiceFaults(type: string | undefined, link = ''): FieldFault[] {
  if (type !== undefined && type !== 'audio') return [{ path: 'media.voice', message: 'goes with audio only' }]
  const [, ending] = /\.([a-z0-9]+)$/i.exec(URL.parse(link)?.pathname ?? '') ?? []
  return ending !== undefined && !VOICE_ENDINGS.has(ending.toLowerCase())
    ? [{ path: 'media.link', message: 'must lead to an Ogg file with Opus for a voice note' }]
    : []
}

function directSendFaults({ category, ttlSeconds = 0, text, interactive }: Partial<ContentBody>): FieldFault[] {
  if (category === undefined) return []
  const long = (path: string, value = '') =>
    value.length > LONGEST_DIRECT_TEXT
      ? [{ path, message: `must have at most ${LONGEST_DIRECT_TEXT} characters with a category` }]
      : []
  const kind = interactive?.type
  const isOther = kind !== undefined && !DIRECT_INTERACTIVE.has(kind)
  const limit = LONGEST_TTL_SECONDS[category]
  return [
    ...long('text', text),
    ...(isOther ? [{ path: 'category', message: `does not go with an interactive message of the type ${kind}` }] : []),
    ...(ttlSeconds > limit ? [{ path: 'ttlSeconds', message: `must be at most ${limit} with ${category}` }] : []),
  ]
}

/** Returns null if the message needs a template and window. */
const directSendOf = ({ category, ttlSeconds }: ContentBody): DirectSend | null =>
  category === undefined ? null : { category, ttlSeconds }

const toFields = (faults: readonly SendFault[]): FieldFault[] => faults.map(({ path, message }) => ({ path, message }))

function combinationFaults(body: Partial<ContentBody>, input: object): SendFault[] {
  if (body.type === undefined) return []
  const requested = MEMBERS.find((member) => member === body.type) ?? 'media'
  const faults: SendFault[] = []
  const refuse = (path: string, message: string) => faults.push({ path, message, kind: 'shape' })

  if (!isPresent(input, requested)) refuse(requested, `is required when type is ${body.type}`)
  for (const other of MEMBERS) {
    if (other !== requested && isPresent(input, other)) refuse(other, `does not go with type ${body.type}`)
  }
  if (body.type !== 'text' && isPresent(input, 'previewUrl')) refuse('previewUrl', `does not go with type ${body.type}`)
  if (isPresent(input, 'category') && !WITH_CATEGORY.has(body.type))
    refuse('category', `does not go with type ${body.type}`)
  if (isPresent(input, 'ttlSeconds') && !isPresent(input, 'category'))
    refuse('ttlSeconds', 'does not go without category')
  for (const member of body.type === 'reaction' ? ['quoted', 'sendAt'] : []) {
    if (isPresent(input, member)) refuse(member, 'does not go with type reaction')
  }
  if (requested === 'template' && body.template !== undefined)
    refuseUnlessOne(input, 'template', ['id', 'name'], refuse)
  if (requested === 'media' && body.media !== undefined) {
    refuseUnlessOne(input, 'media', ['link', 'providerMediaId', 'mediaId'], refuse)
    const isCaptioned = isPresent(input, 'media', 'caption')
    if (isCaptioned && !CAPTIONED.has(body.type)) refuse('media.caption', `does not go with ${body.type}`)
    if (isPresent(input, 'media', 'filename') && body.type === 'sticker') {
      refuse('media.filename', 'does not go with sticker')
    }
  }
  return faults
}

function refuseUnlessOne(
  input: object,
  path: string,
  members: readonly [string, ...string[]],
  refuse: (path: string, message: string) => void,
): void {
  if (members.filter((member) => isPresent(input, path, member)).length === 1) return
  const paths = members.map((member) => `${path}.${member}`)
  const message = `exactly one of ${paths.slice(0, -1).join(', ')} and ${paths.at(-1)} must be given`
  for (const one of paths) refuse(one, message)
}

function isPresent(input: object, ...path: readonly string[]): boolean {
  return path.reduce<unknown>(memberOf, input) !== undefined
}

const isHttps = (link: string): boolean => /^https:\/\//i.test(link) && URL.canParse(link)

/** Returns the send's own errors for `recipient` (spec: Errors): missing, empty or no phone number. */
export function refuseSend(
  faults: readonly (FieldFault & Pick<RequestFault, 'kind'>)[],
  body: unknown,
): AppError | undefined {
  const ofRecipient = faults.filter(({ path }) => path === 'recipient')
  if (ofRecipient.some(({ kind }) => kind === 'shape') || isEmptyRecipient(body)) return missingRecipient()
  if (ofRecipient.length > 0 && ofRecipient.length === faults.length)
    return invalidPhoneNumber(...ofRecipient.map(({ path, message }) => ({ path, message })))
  return undefined
}

const isEmptyRecipient = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'recipient' in body && body.recipient === ''

/** Returns a fault unless a user id or phone digits with country code. */
export function recipientFault(text: string): FieldFault | undefined {
  if (USER_ID.test(text)) return undefined
  const phone = readPhone(text)
  return 'digits' in phone || phone.impossible !== null ? undefined : { path: 'recipient', message: phone.fault }
}

export function readRecipient(text: string): string {
  if (USER_ID.test(text)) return text
  const phone = readPhone(text)
  return 'digits' in phone ? phone.digits : (phone.impossible ?? text)
}

/** 422 `invalid_phone_number` for a length unknown in the country, unless the company knows the number. */
export async function checkRecipient(db: Db, companyId: number, text: string): Promise<void> {
  const phone = USER_ID.test(text) ? undefined : readPhone(text)
  if (phone === undefined || 'digits' in phone || phone.impossible === null) return
  const known = await findKnownPhones(db, companyId, [phone.impossible])
  if (known.size === 0) throw invalidPhoneNumber({ path: 'recipient', message: phone.fault })
}

/** Builds a send to a conversation's customer; 400 `bad_request` without recipient, else errors as `parseContent`. */
export function toSend(conversation: Conversation, body: ContentBody): SendRequest {
  const recipient = recipientOf(conversation)
  if (recipient === undefined)
    throw badRequest('The conversation has no recipient: it is of a group or has no customer')
  return {
    recipient,
    content: parseContent(body),
    sender: { id: conversation.senderId },
    conversationId: conversation.id,
    contactSource: CONTACT_SOURCE,
    quoted: body.quoted,
    directSend: directSendOf(body),
  }
}

const recipientOf = ({ phone, userId }: Conversation): string | undefined => phone ?? userId ?? undefined
