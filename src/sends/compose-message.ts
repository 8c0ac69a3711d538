import type { KeyToReserve } from '../http/idempotency/idempotency.ts'
import type { ProvideUpload } from '../media/uploads/provide-upload.ts'
import { validationError } from '../platform/errors.ts'
import { customerIdentity, USER_ID } from '../platform/text/phone.ts'
import type { Sender } from '../senders/sender.ts'
import { limitScopeOf, resolveSender, slotSecondsOf } from '../senders/sender.ts'
import { chooseVersion, type Template } from '../templates/template.ts'
import type { TemplateCache } from '../templates/template-cache.ts'
import type { Send } from './batch/decide-sends.ts'
import { composePlain, composeTemplate, type Outbound } from './outbound.ts'
import { type FindQuoted, findQuotedMessage, type QuotedMessage } from './replies/quoted-message.ts'
import type { SendRequest } from './send-request.ts'
import { provideFile } from './sent-file.ts'

export type Composed = {
  sender: Sender
  outbound: Outbound
  template: Template | undefined
  quoted: QuotedMessage | undefined
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
  const provide = () => provideFile(deps.provideUpload, companyId, sender, content)
  if (content.type !== 'template') {
    return { sender, quoted, outbound: composePlain(content, quoted, await provide()), template: undefined }
  }
  const versions = await deps.templates.versionsOf(companyId, sender.wabaAccountId, content.family)
  const template = chooseVersion(versions, content.languageCode)
  if (template.category === 'AUTHENTICATION' && USER_ID.test(request.recipient))
    throw validationError([CODE_TO_USER_ID])
  return { sender, quoted, outbound: composeTemplate(template, content.components, await provide()), template }
}

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
