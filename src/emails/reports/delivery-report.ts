import PostalMime, { type Attachment, type Email } from 'postal-mime'
import { type MailReport, toServerMessage } from '../../mailers/mailer.ts'
import { classOf, refusesAddress } from './refusal.ts'

const MAX_NESTING = 8
const MAX_HEADERS = 64 * 1024
const MAX_TEXT = 8_192

export type ReturnedMail = {
  raw: Uint8Array
  hasNullSender: boolean
}

/**
 * Reads a bounce (RFC 3464, 6533), a complaint (RFC 5965) or a server's plain text; undefined for other mail, such as
 * auto-replies and delays. `raw` may end after the second part.
 */
export async function readDeliveryReport({ raw, hasNullSender }: ReturnedMail): Promise<MailReport | undefined> {
  const mail = await PostalMime.parse(raw, {
    maxNestingDepth: MAX_NESTING,
    maxHeadersSize: MAX_HEADERS,
    attachmentEncoding: 'utf8',
    forceRfc822Attachments: true,
  }).catch(() => undefined)
  if (mail === undefined) return undefined
  const status = partOf(mail, /^message\/(?:global-)?delivery-status$/)
  if (status !== undefined) return firstOf(readGroups(status), toBounce)
  const feedback = partOf(mail, /^message\/feedback-report$/)
  if (feedback !== undefined) return firstOf(readGroups(feedback), toComplaint)
  return hasNullSender ? readText(mail) : undefined
}

function partOf({ attachments }: Email, type: RegExp): string | undefined {
  const part = attachments.find(({ mimeType }: Attachment) => type.test(mimeType))
  return typeof part?.content === 'string' ? part.content : undefined
}

function firstOf(groups: Iterable<Fields>, read: (fields: Fields) => MailReport | undefined): MailReport | undefined {
  for (const fields of groups) {
    const report = read(fields)
    if (report !== undefined) return report
  }
  return undefined
}

type Fields = ReadonlyMap<string, string>

/** First the message fields, then one group per recipient. */
function* readGroups(text: string): Generator<Fields> {
  for (const group of text.split(/\r?\n(?:[\t ]*\r?\n)+/)) {
    const lines = group.replaceAll(/\r?\n[\t ]+/g, ' ').split(/\r?\n/)
    yield new Map(
      lines.flatMap((line): [string, string][] => {
        const colon = line.indexOf(':')
        return colon < 0 ? [] : [[line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]]
      }),
    )
  }
}

const withoutComments = (value: string): string => value.replaceAll(/\([^()]*\)/g, '').trim()

function toBounce(fields: Fields): MailReport | undefined {
  if (withoutComments(fields.get('action') ?? '').toLowerCase() !== 'failed') return undefined
  const status = withoutComments(fields.get('status') ?? '')
  const text = (fields.get('diagnostic-code') ?? '').replace(/^[a-z-]+\s*;\s*/i, '')
  return toReport({ status, text }, text || fields.get('status') || 'failed')
}

/** Other types, such as `not-spam` and `auth-failure`, are no recipient complaints. */
const COMPLAINTS = ['abuse', 'fraud', 'opt-out']

function toComplaint(fields: Fields): MailReport | undefined {
  const type = withoutComments(fields.get('feedback-type') ?? '').toLowerCase()
  return COMPLAINTS.includes(type) ? { kind: 'complaint', message: toServerMessage(type) } : undefined
}

const MAIL_SERVER = /^(?:mailer-?daemon|mail-?daemon|post-?master|microsoftexchange)/i
const RETURNED_MAIL = /^[ \t-]*-{2,}.*(?:copy|original|below|returned|message follows).*$/im
const REFUSAL = /(?<![\d.])(?:5\d\d[ -]|#?5\.\d{1,3}\.\d{1,3}(?!\.?\d)).*/s

async function readText(mail: Email): Promise<MailReport | undefined> {
  const names = mail.headers.some(({ key }) => key === 'x-failed-recipients')
  if (!names && !MAIL_SERVER.test(mail.from?.address ?? '')) return undefined
  const [text = ''] = (mail.text || (await textOfHtml(mail.html ?? '')) || '').slice(0, MAX_TEXT).split(RETURNED_MAIL)
  const [refusal] = REFUSAL.exec(text) ?? []
  if (refusal !== undefined) return toReport({ text: paragraphOf(text, refusal) }, refusal)
  // Delay warnings list no failed recipients.
  return names ? { kind: 'bounce', isPermanent: false, message: toServerMessage(text) } : undefined
}

const textOfHtml = async (html: string) => (await import('../rendering/plain-text.ts')).plainTextOf(html)

/** Some servers put the code after the words. */
function paragraphOf(text: string, refusal: string): string {
  const before =
    text
      .slice(0, text.length - refusal.length)
      .split(EMPTY_LINE)
      .at(-1) ?? ''
  const [after = ''] = refusal.split(EMPTY_LINE)
  return before + after
}

const EMPTY_LINE = /\r?\n[\t ]*\r?\n/

const toReport = (refusal: { status?: string; text: string }, message: string): MailReport => ({
  kind: 'bounce',
  isPermanent: classOf(refusal) !== '4' && refusesAddress(refusal),
  message: toServerMessage(message),
})
