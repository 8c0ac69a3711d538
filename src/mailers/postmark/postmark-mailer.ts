import { STATUS_CODES } from 'node:http'
import { bulkhead } from 'cockatiel'
import { type Exchange, exchange } from '../../platform/outgoing/exchange.ts'
import { createProxiedAgent, NO_PROXIES, type Proxies } from '../../platform/outgoing/proxies.ts'
import { memberOf } from '../../platform/text/json-text.ts'
import {
  type Deadlines,
  MAX_CONNECTIONS,
  type Mail,
  type Mailer,
  type MailOutcome,
  type ReadMailReport,
  refuseUtf8,
  toServerMessage,
  utf8Address,
} from '../mailer.ts'

const CONNECT_TIMEOUT_MS = 15_000
const DEADLINES: Deadlines = { beforeEndMs: 60_000, afterEndMs: 60_000 }
const MAX_ANSWER_BYTES = 64 * 1024
/** Returned with HTTP 401 or 422. */
const WRONG_TOKEN = 10
const TLS_CODES = /CERT|TLS|SSL|^EPROTO$|UNABLE_TO/

type Answer = { ErrorCode?: number; Message?: string; MessageID?: string }

/** Sends through `postmark://TOKEN@HOST` (`postmark+http`: no TLS) in one request, right after confirmation. */
export function createPostmarkMailer({
  beforeEndMs = DEADLINES.beforeEndMs,
  afterEndMs = DEADLINES.afterEndMs,
  proxies = NO_PROXIES,
}: Partial<Deadlines & { proxies: Proxies }> = {}): Mailer {
  // One connection per mail: a kept-alive one can close during a submission and leave its outcome unknown.
  const agent = createProxiedAgent(proxies, {
    connections: MAX_CONNECTIONS,
    pipelining: 0,
    allowH2: false,
    maxResponseSize: MAX_ANSWER_BYTES,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  })
  const slots = bulkhead(MAX_CONNECTIONS, Number.POSITIVE_INFINITY)

  const submit = async (url: URL, mail: Mail): Promise<MailOutcome> => {
    const scheme = url.protocol === 'postmark+http:' ? 'http' : 'https'
    const answer = await exchange(agent, {
      url: `${scheme}://${url.host}/email`,
      method: 'POST',
      timeoutMs: afterEndMs,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'x-postmark-server-token': decodeURIComponent(url.username),
      },
      body: JSON.stringify(toRequest(mail)),
    })
    return answer.kind === 'answered' ? toOutcome(answer.status, readBody(answer.body)) : failureOf(answer)
  }

  const send = async (url: URL, mail: Mail, confirmSubmission: () => Promise<boolean>): Promise<MailOutcome> => {
    const unusual = utf8Address(mail)
    if (unusual !== undefined) return refuseUtf8(unusual)
    const startedAt = performance.now()
    try {
      if (!(await confirmSubmission())) return { kind: 'withheld' }
    } catch (error) {
      return { kind: 'unavailable', fault: 'connection', message: toServerMessage(error) }
    }
    if (performance.now() - startedAt > beforeEndMs) {
      return {
        kind: 'unavailable',
        fault: 'timeout',
        message: `The mail was not confirmed within ${beforeEndMs / 1_000} s`,
      }
    }
    return submit(url, mail)
  }

  return {
    send: (serverUrl, mail, confirmSubmission) =>
      slots.execute(() => send(new URL(serverUrl), mail, confirmSubmission)),
    close: () => void agent.close().catch(() => undefined),
  }
}

const toRequest = (mail: Mail) => ({
  From: mail.from.name === null ? mail.from.address : `${quoted(mail.from.name)} <${mail.from.address}>`,
  To: mail.to,
  ...(mail.replyTo !== null && { ReplyTo: mail.replyTo }),
  Subject: oneLine(mail.subject),
  HtmlBody: mail.html,
  ...(mail.text !== null && { TextBody: mail.text }),
  ...(mail.reportToken !== null && { Metadata: { [METADATA_KEY]: mail.reportToken } }),
  // Parley tracks links and opens itself, and the stored message id must be kept.
  TrackOpens: false,
  TrackLinks: 'None',
  Headers: Object.entries({
    ...mail.headers,
    'Message-ID': mail.messageId,
    'X-PM-KeepID': 'true',
    Date: mail.date.toUTCString().replace('GMT', '+0000'),
  }).map(([name, value]) => ({ Name: oneLine(name), Value: oneLine(value) })),
})

const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
const quoted = (name: string): string => `"${oneLine(name).replaceAll(/["\\]/g, String.raw`\$&`)}"`

/** https://postmarkapp.com/developer/api/overview#response-codes */
function toOutcome(status: number, { ErrorCode, Message, MessageID }: Answer): MailOutcome {
  const message = toServerMessage([status, Message ?? STATUS_CODES[status], MessageID].filter(Boolean).join(' '))
  if (status === 200 && (ErrorCode ?? 0) === 0) return { kind: 'accepted', message }
  if (status === 401 || status === 403 || ErrorCode === WRONG_TOKEN)
    return { kind: 'unavailable', fault: 'login', message }
  if (status === 429 || status === 503) return { kind: 'refused', isTemporary: true, message }
  // May have accepted the mail before failing.
  return status >= 500 ? { kind: 'unknown', message } : { kind: 'refused', isTemporary: false, message }
}

function failureOf({ kind, code, detail }: Exclude<Exchange, { kind: 'answered' }>): MailOutcome {
  const message = toServerMessage(detail)
  if (kind === 'no-answer') return { kind: 'unknown', message }
  return { kind: 'unavailable', fault: TLS_CODES.test(code ?? '') ? 'tls' : 'connection', message }
}

function readBody(body: Buffer): Answer {
  try {
    return JSON.parse(body.toString('utf8')) ?? {}
  } catch {
    return {}
  }
}

export const METADATA_KEY = 'report'

/** https://postmarkapp.com/developer/api/bounce-api#bounce-types */
const PERMANENT = ['HardBounce', 'BadEmailAddress']
const TEMPORARY = ['SoftBounce', 'DnsError', 'SpamNotification', 'VirusNotification', 'Blocked', 'DMARCPolicy']

/** Reads a Postmark webhook; returns undefined unless a bounce or complaint with a report token. */
export const readPostmarkReport: ReadMailReport = (body) => {
  const [recordType, type] = [textOf(body, 'RecordType'), textOf(body, 'Type')]
  const token = textOf(memberOf(body, 'Metadata'), METADATA_KEY)
  const message = toServerMessage(textOf(body, 'Details') || textOf(body, 'Description') || type || recordType || '')
  if (token === undefined) return undefined
  if (recordType === 'SpamComplaint' || type === 'SpamComplaint')
    return { token, report: { kind: 'complaint', message } }
  if (recordType !== 'Bounce' || type === undefined) return undefined
  if (!PERMANENT.includes(type) && !TEMPORARY.includes(type)) return undefined
  return { token, report: { kind: 'bounce', isPermanent: PERMANENT.includes(type), message } }
}

function textOf(value: unknown, name: string): string | undefined {
  const member = memberOf(value, name)
  return typeof member === 'string' ? member : undefined
}
