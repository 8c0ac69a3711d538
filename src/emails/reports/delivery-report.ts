import PostalMime from 'postal-mime'
import type { MailReport } from '../../mailers/mail-reports.ts'
import { toServerMessage } from '../../mailers/server-message.ts'

const MAX_NESTING = 8
const MAX_HEADERS = 64 * 1024

/**
 * Reads a delivery status notification (RFC 3464) from a raw mail; undefined for every other mail, such as an automatic
 * answer, and for a notification of a delay or a success. The mail may be cut after the notification's second part.
 */
export async function readDeliveryReport(raw: Uint8Array): Promise<MailReport | undefined> {
  const { attachments } = await PostalMime.parse(raw, {
    maxNestingDepth: MAX_NESTING,
    maxHeadersSize: MAX_HEADERS,
    attachmentEncoding: 'utf8',
    // The returned mail is not read.
    forceRfc822Attachments: true,
  }).catch(() => ({ attachments: [] }))
  const status = attachments.find(({ mimeType }) => mimeType === 'message/delivery-status')
  if (typeof status?.content !== 'string') return undefined
  for (const fields of readGroups(status.content)) {
    const report = toReport(fields)
    if (report !== undefined) return report
  }
  return undefined
}

type Fields = ReadonlyMap<string, string>

/** The groups of fields: the first is about the message, each other about a recipient. */
function* readGroups(text: string): Generator<Fields> {
  for (const group of text.split(/\r?\n(?:[\t ]*\r?\n)+/)) {
    // A line that begins with a blank continues the one before.
    const lines = group.replaceAll(/\r?\n[\t ]+/g, ' ').split(/\r?\n/)
    yield new Map(
      lines.flatMap((line): [string, string][] => {
        const colon = line.indexOf(':')
        return colon < 0 ? [] : [[line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]]
      }),
    )
  }
}

/** Classes of status codes (RFC 3463): 4 is a persistent transient failure, 5 a permanent one. */
const FAILED_STATUS = /^([45])\.\d{1,3}\.\d{1,3}/
/** Refusals of this mail, its sender or its size, a full mailbox and a loop: no statement about the address itself. */
const ABOUT_THE_MAIL = /^5\.(?:[367]\.\d+|1\.[78]|2\.[23]|4\.[67])\b/

function toReport(fields: Fields): MailReport | undefined {
  const status = fields.get('status') ?? ''
  const [, failedClass] = FAILED_STATUS.exec(status) ?? []
  if (fields.get('action')?.toLowerCase() !== 'failed' || failedClass === undefined) return undefined
  const diagnostic = fields.get('diagnostic-code')?.replace(/^[a-z-]+\s*;\s*/i, '')
  const isPermanent = failedClass === '5' && !ABOUT_THE_MAIL.test(status)
  return { kind: 'bounce', isPermanent, message: toServerMessage(diagnostic || status) }
}
