import type { StructuredContent } from '../conversations/content/message-content.ts'
import type { KeyToReserve } from '../http/idempotency/idempotency.ts'
import type { KeyedRequest } from '../http/idempotency/idempotency-store.ts'
import type { ProvidedFile, ProvideUpload } from '../media/uploads/provide-upload.ts'
import { messageNotFound, validationError } from '../platform/errors.ts'
import { customerIdentity, USER_ID } from '../platform/text/phone.ts'
import type { OutboundContent } from '../providers/provider.ts'
import { limitScopeOf, resolveSender, type Sender, slotSecondsOf } from '../senders/sender.ts'
import { type ComponentInput, fillComponents, renderBody } from '../templates/fill-components.ts'
import { chooseVersion, type Template } from '../templates/template.ts'
import type { TemplateCache } from '../templates/template-version-store.ts'
import type { SendContent, SendRequest } from './send-request.ts'
import {
  documentNameIn,
  type FileContent,
  provideFile,
  toProviderComponents,
  toProviderInteractive,
} from './sent-file.ts'

export type Composed = {
  sender: Sender
  outbound: Outbound
  template: Template | undefined
  quoted: QuotedMessage | undefined
}

export type Send = {
  companyId: number
  senderId: number
  identity: string
  /** Digits as written; null for a user id. */
  phone: string | null
  /** WhatsApp business account that scopes user ids. */
  account: string
  /** Replies only; null: the conversation between sender and customer. */
  conversationId: number | null
  contactSource: string
  sourceType: string
  needsWindow: boolean
  needsConsent: boolean
  /** Customers per 24 hours outside an open window; null: unlimited. */
  dailyLimit: number | null
  /** The provider's portfolio if known, else the sender. */
  limitScope: string
  /** Between the sender's messages; null: unthrottled, also per customer. */
  slotSeconds: number | null
  type: string
  template: { name: string; category: string } | null
  text: string | null
  media: { uploadId?: string } | null
  content: object | null
  quotedWamid: string | null
  senderName: string
  /** Reserved with the message. */
  key: KeyedRequest | null
  scheduledId: number | null
}

export type ComposeDeps = {
  senders: { listFor(companyId: number): Promise<readonly Sender[]> }
  templates: TemplateCache
  findQuoted: FindQuoted
  provideUpload: ProvideUpload
}

export type SendRules = {
  sourceType: string
  marketingWindow: 'strict' | 'provider'
  sessionWindow: 'strict' | 'provider'
}

export type SendCaller = {
  companyId: number
  keyName: string
  key: KeyToReserve | null
  scheduledId: number | null
}

/** Composes a message without deciding on the send; throws if sender, template or quote is missing or unfit. */
export async function composeMessage(deps: ComposeDeps, companyId: number, request: SendRequest): Promise<Composed> {
  const { content } = request
  const sender = resolveSender(await deps.senders.listFor(companyId), request.sender)
  if (request.directSend !== null && !sender.directSend) throw validationError([NO_DIRECT_SEND])
  const identity = customerIdentity(request.recipient)
  const quoted = await findQuotedMessage(deps.findQuoted, companyId, sender.id, identity, request)
  const provide = async () =>
    mayNameFile(content) ? provideFile(deps.provideUpload, companyId, sender, content) : undefined
  if (content.type !== 'template') {
    return { sender, quoted, outbound: composePlain(content, quoted, await provide()), template: undefined }
  }
  const versions = await deps.templates.versionsOf(companyId, sender.wabaAccountId, content.family)
  const template = chooseVersion(versions, content.languageCode)
  if (template.category === 'AUTHENTICATION' && USER_ID.test(request.recipient))
    throw validationError([CODE_TO_USER_ID])
  return { sender, quoted, outbound: composeTemplate(template, content.components, await provide()), template }
}

const mayNameFile = (content: SendContent): content is FileContent =>
  content.type === 'template' || content.type === 'interactive' || 'source' in content

const NO_DIRECT_SEND = {
  path: 'category',
  message: 'is not allowed: Direct Send is not switched on for the sending number',
}

/** The provider sends codes to phone numbers only. */
const CODE_TO_USER_ID = {
  path: 'recipient',
  message: 'must be a phone number for a template of the category AUTHENTICATION',
}

/** A reaction contains its own target. */
export const quotedWamidOf = ({ outbound, quoted }: Composed): string | null =>
  outbound.content.type === 'reaction' ? null : (quoted?.wamid ?? null)

export function toPrepare(rules: SendRules, caller: SendCaller, request: SendRequest, composed: Composed): Send {
  const { sender, outbound, template } = composed
  const isMarketing = template?.category === 'MARKETING'
  return {
    companyId: caller.companyId,
    senderId: sender.id,
    identity: customerIdentity(request.recipient),
    phone: USER_ID.test(request.recipient) ? null : request.recipient,
    account: sender.wabaAccountId,
    conversationId: request.conversationId,
    contactSource: request.contactSource,
    sourceType: rules.sourceType,
    needsWindow: request.directSend === null && needsWindow(rules, template),
    needsConsent: isMarketing,
    dailyLimit: sender.dailyLimit,
    limitScope: limitScopeOf(sender),
    slotSeconds: slotSecondsOf(sender),
    type: outbound.type,
    template: template === undefined ? null : { name: template.name, category: template.category.toLowerCase() },
    text: outbound.text,
    media: outbound.media,
    content: outbound.structured,
    quotedWamid: quotedWamidOf(composed),
    senderName: caller.keyName,
    key: caller.key?.request ?? null,
    scheduledId: caller.scheduledId,
  }
}

/** Text and media always, marketing templates by default; utility and authentication never. */
function needsWindow(rules: SendRules, template: Template | undefined): boolean {
  if (rules.sessionWindow === 'provider') return false
  if (template === undefined) return true
  return template.category === 'MARKETING' && rules.marketingWindow === 'strict'
}

export type QuotedMessage = { id: number; wamid: string }

export type FindQuoted = (
  companyId: number,
  senderId: number,
  identity: string,
  messageId: number,
) => Promise<{ wamid: string | null } | undefined>

/** Not the provider's: erased messages, or messages without id. */
export const OWN_WAMID = /^(erased:|sha256\.)/

/** Finds the message to answer or react to, if any; 404 if not in the conversation, 422 if unknown to the provider. */
export async function findQuotedMessage(
  find: FindQuoted,
  companyId: number,
  senderId: number,
  identity: string,
  { content, quoted }: SendRequest,
): Promise<QuotedMessage | undefined> {
  const id = content.type === 'reaction' ? content.reaction.messageId : quoted
  if (id === undefined) return undefined
  const message = await find(companyId, senderId, identity, id)
  if (message === undefined) throw messageNotFound()
  const { wamid } = message
  if (wamid === null || OWN_WAMID.test(wamid)) {
    const path = content.type === 'reaction' ? 'reaction.messageId' : 'quoted'
    throw validationError([{ path, message: 'names a message that has no id at the provider' }])
  }
  return { id, wamid }
}

export type Outbound = {
  type: 'text' | 'image' | 'video' | 'audio' | 'document'
  text: string | null
  media: OutboundMedia | null
  structured: StructuredContent | null
  content: OutboundContent
}

type OutboundMedia = {
  kind: string
  link: string | null
  providerMediaId: string | null
  uploadId?: string
  mimeType?: string
  filename: string | null
  voice?: boolean
}

type Media = Extract<SendContent, { source: unknown }>

const REACTION_REMOVED = '[reaction removed]'

export function composePlain(
  content: Exclude<SendContent, { type: 'template' }>,
  quoted: QuotedMessage | undefined,
  file?: ProvidedFile,
): Outbound {
  switch (content.type) {
    case 'text':
      return { ...PLAIN, text: content.text, content }
    case 'interactive': {
      const { type, interactive } = content
      const value = toProviderInteractive(interactive, file)
      const { header } = { header: undefined, ...interactive }
      const media = file === undefined ? null : toMedia(file, documentNameIn(header))
      return { ...PLAIN, media, text: interactive.body.text, structured: content, content: { type, value } }
    }
    case 'location': {
      const { type, location } = content
      return { ...PLAIN, text: location.name ?? `[${type}]`, structured: content, content: { type, value: location } }
    }
    case 'contacts': {
      const { type, contacts } = content
      const structured = { type, contacts: [...contacts] }
      return { ...PLAIN, text: `[${type}]`, structured, content: { type, value: contacts } }
    }
    case 'reaction': {
      const { type, reaction } = content
      const emoji = reaction.emoji || null
      const structured = { type, reaction: { messageId: reaction.messageId, emoji } }
      const sent = { type, targetWamid: quoted?.wamid ?? '', emoji }
      return { ...PLAIN, text: emoji ?? REACTION_REMOVED, structured, content: sent }
    }
    default:
      return composeMedia(content, file)
  }
}

const PLAIN = { type: 'text', media: null, structured: null } as const

function composeMedia({ source, ...content }: Media, file: ProvidedFile | undefined): Outbound {
  const { type, caption } = content
  const note = content.isVoice ? { voice: true } : {}
  const filename = content.filename ?? (type === 'document' ? (file?.filename ?? undefined) : undefined)
  const shown = { type: type === 'sticker' ? 'image' : type, text: caption ?? `[${type}]`, structured: null } as const
  if ('mediaId' in source) {
    if (file === undefined) throw new Error('A file that was not provided cannot be sent')
    const sent = { ...content, filename, source: { providerMediaId: file.providerMediaId } }
    return { ...shown, media: { ...toMedia(file, filename ?? null), ...note, kind: type }, content: sent }
  }
  const { link = null, providerMediaId = null } = { link: undefined, providerMediaId: undefined, ...source }
  const media = { kind: type, link, providerMediaId, filename: filename ?? null, ...note }
  return { ...shown, media, content: { ...content, source } }
}

const toMedia = ({ mediaId, kind, mimeType, filename }: ProvidedFile, given: string | null): OutboundMedia => ({
  kind,
  link: null,
  providerMediaId: null,
  uploadId: mediaId,
  mimeType,
  filename: given ?? filename,
})

/** Composes a template message; 422 `parameter_mismatch`. */
export function composeTemplate(
  template: Template,
  parameters: readonly ComponentInput[],
  file?: ProvidedFile,
): Outbound {
  const header = parameters.find(({ type }) => type === 'HEADER')?.parameters?.[0]
  return {
    ...PLAIN,
    media: file === undefined ? null : toMedia(file, documentNameIn(header)),
    text: renderBody(template, parameters) ?? `[${template.name}]`,
    content: {
      type: 'template',
      name: template.name,
      language: template.language,
      components: fillComponents(template, toProviderComponents(parameters, file)),
    },
  }
}
