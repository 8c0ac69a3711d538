import { Readable } from 'node:stream'
import { bulkhead } from 'cockatiel'
import type { createTransport } from 'nodemailer'
import { createTaskThread } from '../../fair/threads/task-thread.ts'
import { createCache } from '../../platform/cache.ts'
import { pausedPiecesOf } from '../../platform/files/pieces-of.ts'
import { programFile } from '../../platform/program-file.ts'
import { memberOf } from '../../platform/text/json-text.ts'
import {
  type Deadlines,
  MAX_CONNECTIONS,
  type Mail,
  type Mailer,
  type MailOutcome,
  refuseUtf8,
  type ServerFault,
  toServerMessage,
  utf8Address,
} from '../mailer.ts'
import type { encodeMail } from './encode-mail.ts'
import type { EncodeTasks } from './encode-program.ts'
import { type MailMessage, toMessage } from './mail-message.ts'

const MAX_SERVERS = 200
/** Takes about 1 ms to encode; longer mails go to a thread. */
const MOST_CHARACTERS_HERE = 64 * 1024
/** Nodemailer scans each piece in one go: 0.5 ms for this size, 40 ms for 2 MB. */
const PIECE_BYTES = 32 * 1024
/** Must exceed the longest mail. */
const IDLE_MS = 20 * 60_000
const CONNECT_TIMEOUT_MS = 15_000
/** RFC 5321, section 4.5.3.2. */
const DEADLINES: Deadlines = { beforeEndMs: 5 * 60_000, afterEndMs: 10 * 60_000 }

class Withheld extends Error {}

type Ending = {
  confirmSubmission: () => Promise<boolean>
  onSubmitted: () => void
  state: 'open' | 'submitted' | 'withheld' | 'lost'
  asking: Promise<unknown>
}

/** Creates an SMTP mailer, one pool per server; `smtp:` uses STARTTLS if offered. Mail never reads files or URLs. */
export function createSmtpMailer(deadlines: Deadlines = DEADLINES): Mailer {
  const servers = createCache<string, Server>({
    name: 'smtp_servers',
    max: MAX_SERVERS,
    ttlMs: IDLE_MS,
    onDrop: (server) => server.close(),
  })
  return {
    async send(serverUrl, mail, confirmSubmission) {
      // Takes 5 MB; loaded only if this process sends mail.
      const [{ createTransport }, { encodeMail }] = await Promise.all([
        import('nodemailer'),
        import('./encode-mail.ts'),
      ])
      const library = { createTransport, encodeMail }
      const server = servers.find(serverUrl) ?? createServer(library, serverUrl, deadlines)
      // Sets it again to stay until idle.
      servers.set(serverUrl, server)
      return server.send(mail, confirmSubmission)
    },
    close: () => servers.drop(),
  }
}

type Server = { send(mail: Mail, confirmSubmission: () => Promise<boolean>): Promise<MailOutcome>; close(): void }

type Library = { createTransport: typeof createTransport; encodeMail: typeof encodeMail }

function createServer(library: Library, serverUrl: string, { beforeEndMs, afterEndMs }: Deadlines): Server {
  const endings = new Map<string, Ending>()
  // Mails wait here, not in Nodemailer's pool, so that deadlines start with the send.
  const slots = bulkhead(MAX_CONNECTIONS, Number.POSITIVE_INFINITY)
  const transport = library.createTransport({
    url: serverUrl,
    pool: true,
    maxConnections: MAX_CONNECTIONS,
    maxMessages: 1_000,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: beforeEndMs,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    // The longer deadline: Nodemailer's own timeout doesn't tell whether the end was sent.
    socketTimeout: Math.max(beforeEndMs, afterEndMs),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  transport.on('error', () => {})
  transport.use('stream', ({ message, data }, done) => {
    const ending = endings.get(String(data.messageId))
    if (message && ending) {
      message.createReadStream = () =>
        holdEnd(Buffer.isBuffer(data.raw) ? data.raw : library.encodeMail(message), ending)
    }
    done()
  })
  const send = async (mail: Mail, confirmSubmission: () => Promise<boolean>): Promise<MailOutcome> => {
    // Encodes before the server's deadline starts.
    const encoded = await toEncoded(mail)
    const unusual = utf8Address(mail)
    if (unusual !== undefined) {
      const offers = await offersSmtpUtf8(serverUrl, Math.min(beforeEndMs, CONNECT_TIMEOUT_MS)).catch(toUnavailable)
      if (typeof offers !== 'boolean') return offers
      if (!offers) return refuseUtf8(unusual)
    }
    const late = new AbortController()
    const abortAfter = (ms: number) => setTimeout(() => late.abort(timedOut(ms)), ms)
    let timer = abortAfter(beforeEndMs)
    const onSubmitted = () => {
      clearTimeout(timer)
      timer = abortAfter(afterEndMs)
    }
    const ending: Ending = { confirmSubmission, onSubmitted, state: 'open', asking: Promise.resolve() }
    endings.set(mail.messageId, ending)
    try {
      const { response } = await transport.sendMail({ ...encoded, signal: late.signal })
      return { kind: 'accepted', message: toServerMessage(response) }
    } catch (error) {
      const outcome = toOutcome(late.signal.aborted ? late.signal.reason : error, ending)
      if (ending.state === 'open') ending.state = 'lost'
      // A late `confirmSubmission` would mark the mail after its outcome was returned.
      await ending.asking
      return outcome
    } finally {
      clearTimeout(timer)
      endings.delete(mail.messageId)
    }
  }
  return {
    send: (mail, confirmSubmission) => slots.execute(() => send(mail, confirmSubmission)),
    close: () => transport.close(),
  }
}

/** Holds back the end until submission is confirmed, which can't start before DATA: until then nothing pulls. */
function holdEnd(bytes: Buffer, ending: Ending): Readable {
  let isAsked = false
  return new Readable({
    read() {
      if (isAsked) return
      isAsked = true
      ending.asking = pushPieces(this, bytes)
        .then(() => end(ending))
        .then(
          () => this.push(null),
          (error: Error) => this.destroy(error),
        )
    },
  })
}

async function pushPieces(to: Readable, bytes: Uint8Array): Promise<void> {
  for await (const piece of pausedPiecesOf(bytes, PIECE_BYTES)) to.push(piece)
}

function refuseLost({ state }: Ending): void {
  if (state === 'lost') throw new Withheld('The session has ended')
}

async function end(ending: Ending): Promise<void> {
  refuseLost(ending)
  // Nodemailer may retry on a second connection, but the first may have delivered the mail.
  if (ending.state === 'submitted') throw new Withheld('The mail was submitted before')
  const mayGo = await ending.confirmSubmission()
  refuseLost(ending)
  ending.state = mayGo ? 'submitted' : 'withheld'
  if (mayGo) ending.onSubmitted()
  else throw new Withheld('The mail must not be sent now')
}

/** Encodes long mails in a thread; Nodemailer encodes short ones once connected. */
async function toEncoded(mail: Mail) {
  const message = toMessage(mail)
  if (mail.html.length + (mail.text?.length ?? 0) <= MOST_CHARACTERS_HERE) return message
  const { messageId, envelope } = message
  return { messageId, envelope, raw: await encodeInThread(mail.companyId, message) }
}

const timedOut = (ms: number): Error =>
  Object.assign(new Error(`The mail server took longer than ${ms / 1_000} s`), { code: 'ETIMEDOUT' })

function toUnavailable(error: unknown): MailOutcome {
  const failure = readFailure(error)
  const message = toServerMessage(failure.response ?? failure.message)
  return { kind: 'unavailable', fault: faultOf(failure) ?? 'connection', message }
}

function toOutcome(error: unknown, ending: Ending): MailOutcome {
  if (ending.state === 'withheld') return { kind: 'withheld' }
  const failure = readFailure(error)
  const message = toServerMessage(failure.response ?? failure.message)
  const fault = faultOf(failure)
  if (failure.responseCode !== undefined && failure.responseCode >= 400) {
    return fault === undefined
      ? { kind: 'refused', isTemporary: failure.responseCode < 500, message }
      : { kind: 'unavailable', fault, message }
  }
  if (ending.state === 'submitted') return { kind: 'unknown', message }
  return { kind: 'unavailable', fault: fault ?? 'connection', message }
}

/** Login failures after any command (RFC 4954, section 6). */
const LOGIN_CODES = [530, 534, 535, 538]
const OPENING_COMMANDS = ['CONN', 'EHLO', 'HELO']
const TLS_CODES = /CERT|TLS|SSL|^EPROTO$|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_CA/

type Failure = { message: string; response?: string; responseCode?: number; codes: string[]; command?: string }

/** Returns undefined if the failure may concern this mail alone. */
function faultOf({ codes, command, responseCode = 0 }: Failure): ServerFault | undefined {
  if (codes.includes('EAUTH') || LOGIN_CODES.includes(responseCode)) return 'login'
  if (codes.some((code) => TLS_CODES.test(code))) return 'tls'
  if (codes.includes('ETIMEDOUT')) return 'timeout'
  if (responseCode > 0 && command !== undefined && OPENING_COMMANDS.includes(command)) return 'greeting'
  return undefined
}

function readFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: String(error), codes: [] }
  const member = (name: string) => memberOf(error, name)
  const [response, responseCode, command] = [member('response'), member('responseCode'), member('command')]
  return {
    message: error.message,
    codes: [member('code'), member('originalCode')].filter((code) => typeof code === 'string'),
    ...(typeof response === 'string' && { response }),
    ...(typeof responseCode === 'number' && { responseCode }),
    ...(typeof command === 'string' && { command }),
  }
}

const runEncoding = createTaskThread<EncodeTasks>({
  program: programFile('src/mailers/smtp/encode-program.ts'),
  limitsMs: { encode: 3_000 },
  memory: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 },
})

/** Encodes a long mail in a thread. Mail size is bounded, so hitting the thread's limits is a bug. */
export async function encodeInThread(companyId: number, message: MailMessage): Promise<Buffer> {
  const bytes = await runEncoding(companyId, 'encode', message)
  if (bytes === 'too-slow') throw new Error('Encoding a mail took longer than its limit')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Checks in a separate session: Nodemailer sends without SMTPUTF8. Rejects if the server can't be reached. */
export async function offersSmtpUtf8(serverUrl: string, timeoutMs: number): Promise<boolean> {
  const [{ default: SMTPConnection }, { parseConnectionUrl }] = await Promise.all([
    import('nodemailer/lib/smtp-connection'),
    import('nodemailer/lib/shared'),
  ])
  const limits = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs }
  const connection = new SMTPConnection({ ...parseConnectionUrl(serverUrl), ...limits })
  try {
    await new Promise<void>((resolve, reject) => {
      connection.once('error', reject)
      connection.connect((error) => (error ? reject(error) : resolve()))
    })
    // The EHLO reply after STARTTLS, if any.
    const extensions: unknown = memberOf(connection, '_supportedExtensions')
    return Array.isArray(extensions) && extensions.includes('SMTPUTF8')
  } finally {
    connection.quit()
    connection.close()
  }
}
