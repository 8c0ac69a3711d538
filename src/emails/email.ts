import { domainToASCII } from 'node:url'
import type { Db } from '../db/connect.ts'
import {
  badRequest,
  emailMarketingRefused,
  emailNotFound,
  type FieldFault,
  idempotencyKeyInUse,
  missingRecipientAddress,
  serviceUnavailable,
  validationError,
} from '../platform/errors.ts'
import { newEmailId } from '../platform/ids.ts'
import { wireAddress } from '../platform/text/email-address.ts'
import { textFaults } from '../platform/text/json-text.ts'
import { type EmailSettings, getEmailSettings, type SettingsDeps } from './email-settings.ts'
import { type AcceptedEmail, type EmailRecord, findEmail } from './email-store.ts'
import { getEmailTemplate } from './email-template.ts'
import { addressFaults, headersFaults, lineFaults } from './rendering/header-text.ts'
import { findTrackingOf } from './rendering/mail-worker.ts'
import { fillTemplate } from './rendering/template-text.ts'
import type { Values } from './rendering/template-values.ts'
import { MARKETING_REFUSALS, type MarketingRefusal } from './suppression/suppression.ts'
import { newSecret } from './tracking/tracking-token.ts'

type OneShotEmail = {
  to: string
  subject: string
  html: string
  text?: string
  from?: string
  fromName?: string
  replyTo?: string
  headers?: Readonly<Record<string, string>>
  trackOpens?: boolean
  trackClicks?: boolean
}

type TemplateEmail = { uid: string; recipient: string; customFields?: Values; strict?: boolean }

export type EmailDeps = SettingsDeps & {
  baseUrl: string
  smtpUrl: string | undefined
  /** Stores a mail and its job in a shared statement; false if its Idempotency-Key was released or reclaimed. */
  acceptEmail(email: AcceptedEmail): Promise<boolean>
  findMarketingRefusal(companyId: number, address: string): Promise<MarketingRefusal | null>
}

type EmailCaller = { companyId: number; idempotencyId: number | null }
export type Accepted = { id: string; statsUrl: string; status: 'pending' }

type ToAnswer = (accepted: Accepted) => { status: number; body: object }

/** Accepts a one-shot email (decisions: Email). 400 without sender; 422 lists all bad values; 503 without server. */
export async function sendOneShot(
  deps: EmailDeps,
  caller: EmailCaller,
  email: OneShotEmail,
  toAnswer: ToAnswer,
): Promise<Accepted> {
  const faults = oneShotFaults(email)
  if (faults.length > 0) throw validationError(faults)
  const settings = await getSendingSettings(deps, caller.companyId)
  const from = email.from ?? settings?.from
  if (from === undefined) {
    throw badRequest('The company has no sender address: set from', [
      { path: 'from', message: 'is required if the company has no sender address' },
    ])
  }
  const fromName = email.fromName ?? (email.from === undefined ? (settings?.fromName ?? null) : null)
  return accept(
    deps,
    caller,
    {
      templateId: null,
      recipient: wireAddress(email.to),
      subject: email.subject,
      isMarketing: false,
      fromAddress: from,
      fromName,
      replyTo: email.replyTo ?? null,
      html: email.html,
      text: email.text ?? null,
      headers: email.headers ?? {},
      trackOpens: email.trackOpens ?? true,
      trackClicks: email.trackClicks ?? true,
    },
    toAnswer,
  )
}

/** Returns the faults of well-formed members. */
export const oneShotFaults = (email: Partial<OneShotEmail>): FieldFault[] => [
  ...addressFaults('to', email.to),
  ...lineFaults('subject', email.subject),
  ...addressFaults('from', email.from),
  ...lineFaults('fromName', email.fromName),
  ...addressFaults('replyTo', email.replyTo),
  ...headersFaults(email.headers ?? {}),
]

/** Returns the faults of well-formed members. */
export const templateEmailFaults = ({ recipient, uid, customFields }: Partial<TemplateEmail>): FieldFault[] => [
  ...addressFaults('recipient', recipient),
  ...textFaults({ uid, customFields }, 'body'),
]

/**
 * Accepts a template email. 400 without recipient; 403 for MARKETING to an opted-out contact or suppressed address; 404
 * for an unknown template; 422 for a bad address or values, missing ones if `strict`; 503 without server or sender.
 */
export async function sendTemplateEmail(
  deps: EmailDeps,
  caller: EmailCaller,
  request: TemplateEmail,
  toAnswer: ToAnswer,
): Promise<Accepted> {
  if (request.recipient === '') throw missingRecipientAddress()
  const faults = templateEmailFaults(request)
  if (faults.length > 0) throw validationError(faults)
  const template = await getEmailTemplate(deps.db, caller.companyId, request.uid)
  const settings = await getSendingSettings(deps, caller.companyId)
  if (settings === undefined) {
    throw serviceUnavailable('The company has no sender address: the operator sets one in its email-settings')
  }
  const isMarketing = template.category === 'MARKETING'
  const refusal = isMarketing ? await deps.findMarketingRefusal(caller.companyId, request.recipient) : null
  if (refusal !== null) throw emailMarketingRefused(MARKETING_REFUSALS[refusal])
  return accept(
    deps,
    caller,
    {
      templateId: template.id,
      recipient: wireAddress(request.recipient),
      isMarketing,
      fromAddress: settings.from,
      fromName: settings.fromName,
      replyTo: null,
      ...(await fillTemplate(caller.companyId, template, request.customFields ?? {}, request.strict)),
      headers: {},
      trackOpens: true,
      trackClicks: true,
    },
    toAnswer,
  )
}

async function getSendingSettings(deps: EmailDeps, companyId: number): Promise<EmailSettings | undefined> {
  const settings = await getEmailSettings(deps, companyId)
  if ((settings?.smtpUrl ?? deps.smtpUrl) !== undefined) return settings
  throw serviceUnavailable(
    'No mail server is set: set SMTP_URL, or smtpUrl in the email-settings of the company, to send email',
  )
}

type Composed = Omit<AcceptedEmail, 'companyId' | 'uid' | 'messageId' | 'secret' | 'tracking' | 'answer'>

async function accept(
  deps: EmailDeps,
  { companyId, idempotencyId }: EmailCaller,
  composed: Composed,
  toAnswer: ToAnswer,
): Promise<Accepted> {
  const uid = newEmailId()
  const accepted: Accepted = { id: uid, statsUrl: `${deps.baseUrl}/public/v1/emails/${uid}/stats`, status: 'pending' }
  const { status, body } = toAnswer(accepted)
  const isAccepted = await deps.acceptEmail({
    ...composed,
    companyId,
    uid,
    messageId: newMessageId(composed.fromAddress),
    secret: newSecret(),
    tracking: await findTrackingOf(companyId, deps.baseUrl, composed),
    answer: idempotencyId === null ? null : { idempotencyId, status, body: JSON.stringify(body) },
  })
  if (!isAccepted) throw idempotencyKeyInUse()
  return accepted
}

/** Uses the sender's domain, as mail servers expect; must not reveal anything about the mail. */
function newMessageId(fromAddress: string): string {
  const domain = domainToASCII(fromAddress.slice(fromAddress.lastIndexOf('@') + 1))
  return `<${newSecret().toString('hex').slice(0, 40)}@${domain || 'localhost'}>`
}

/** Returns a mail by its `eml_…`; 404 `Email not found`. */
export async function getEmail(db: Db, companyId: number, uid: string): Promise<EmailRecord> {
  const email = await findEmail(db, companyId, uid)
  if (email === undefined) throw emailNotFound()
  return email
}
