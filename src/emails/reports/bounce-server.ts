import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { bulkhead } from 'cockatiel'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import type { MailReport } from '../../mailers/mail-reports.ts'
import { runMailTask } from '../rendering/mail-worker.ts'
import type { ReportToken } from '../tracking/tracking-token.ts'
import { boundSockets } from './bounce-sockets.ts'
import type { ReturnedMail } from './delivery-report.ts'
import { readReturnPath } from './return-path.ts'

/** Limits of one process for anonymous senders. A sender that is refused repeats for days. */
const BOUNDS = {
  connections: 100,
  /** Of one address: a quarter, so that none holds all. */
  connectionsOfAddress: 25,
  idleMs: 60_000,
  sessionMs: 5 * 60_000,
  /** Received bytes: room for a returned mail with its attachments. */
  sessionBytes: 64 * 1024 * 1024,
  /** Recipients that one session may name, and so its mails; later ones are refused unread. */
  recipients: 20,
}
/** Connections to the database that unproven recipients may use at a time. */
const LOOKUPS = 2
/** The bytes of a mail that are read, and the lines of them that are parsed: a report comes before the returned mail. */
const READ_BYTES = 512 * 1024
const READ_LINES = 4_096
const MACHINE_PART = /^content-type:\s*message\/(?:(?:global-)?delivery-status|feedback-report)/im
/** Before the type of a part: its other headers and its boundary. */
const LINES_BEFORE = 64
const CLOSE_MS = 5_000

export type BounceServerDeps = {
  /** Mail to other domains is refused. */
  domain: string
  isReportToken(token: ReportToken): Promise<boolean>
  /** Resolves when the report is on disk. */
  record(token: ReportToken, report: MailReport): Promise<void>
  /** A mail that reports no failure. */
  onIgnored(): void
  onFailure(error: unknown): void
}

export type BounceServer = {
  /** Returns the port. */
  listen(port: number, host: string): Promise<number>
  close(): Promise<void>
}

/**
 * The mail server of return paths: accepts mail for `bounce+<token>@<domain>` alone, and answers 250 when the report is on disk,
 * 451 when it could not be written, so that its sender repeats it.
 */
export function createBounceServer(deps: BounceServerDeps, others: Partial<typeof BOUNDS> = {}): BounceServer {
  const bounds = { ...BOUNDS, ...others }
  const named = new WeakMap<SMTPServerSession, number>()
  const lookups = bulkhead(LOOKUPS, bounds.connections)
  const server = new SMTPServer({
    authOptional: true,
    // Without a certificate of the domain there is no TLS that a sender could trust.
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    banner: 'return paths only',
    maxClients: bounds.connections,
    maxRecipients: 1,
    size: bounds.sessionBytes / 2,
    socketTimeout: bounds.idleMs,
    closeTimeout: CLOSE_MS,
    onConnect: ({ remoteAddress }, done) =>
      done(sockets.isFull(remoteAddress) ? reply(421, '4.7.0 Too many connections') : null),
    onRcptTo: ({ address }, session, done) => {
      const count = (named.get(session) ?? 0) + 1
      named.set(session, count)
      if (count > bounds.recipients) return done(reply(421, '4.7.0 Too many recipients in this session'))
      lookups
        .execute(() => findToken(deps, address))
        .then(
          (token) => done(token === undefined ? reply(550, '5.1.1 No such return path') : null),
          (error) => done(failed(deps, error)),
        )
    },
    onData: (stream, { envelope }, done) => {
      const [recipient] = envelope.rcptTo
      const hasNullSender = envelope.mailFrom !== false && envelope.mailFrom.address === ''
      receive(deps, recipient?.address ?? '', stream, hasNullSender).then(
        () => done(null, '2.6.0 Recorded'),
        (error) => done(failed(deps, error)),
      )
    },
  })
  // Errors of single connections are those of their clients.
  server.on('error', () => {})
  const sockets = boundSockets(server.server, bounds)
  return {
    listen: async (port, host) => {
      const listening = once(server.server, 'listening')
      const refused = once(server.server, 'error').then(([error]) => Promise.reject(error))
      server.server.listen(port, host)
      await Promise.race([listening, refused])
      return (server.server.address() as AddressInfo).port
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function findToken(deps: BounceServerDeps, address: string): Promise<ReportToken | undefined> {
  const token = readReturnPath(deps.domain, address)
  return token !== undefined && (await deps.isReportToken(token)) ? token : undefined
}

async function receive(
  deps: BounceServerDeps,
  address: string,
  stream: Readable,
  hasNullSender: boolean,
): Promise<void> {
  const raw = await readStart(stream)
  const token = readReturnPath(deps.domain, address)
  const report = token && (await readInTurn(token.companyId, { raw, hasNullSender }))
  if (token === undefined || report === undefined) return deps.onIgnored()
  await deps.record(token, report)
}

/** One at a time, so that the mails that wait for the worker wait for one report at most. */
const reading = bulkhead(1, Number.POSITIVE_INFINITY)

/** Undefined for what no mail server writes, too: a mail that takes long to read. */
async function readInTurn(companyId: number, mail: ReturnedMail): Promise<MailReport | undefined> {
  const report = await reading.execute(() => runMailTask(companyId, 'report', mail))
  return report === 'too-slow' ? undefined : report
}

/** Reads all of a stream and returns its first lines, with the report after a long first part. */
async function readStart(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    if (bytes < READ_BYTES) chunks.push(chunk)
    bytes += chunk.length
  }
  const text = Buffer.concat(chunks).subarray(0, READ_BYTES).toString('latin1')
  const lines = text.split('\n')
  const before = text.slice(0, MACHINE_PART.exec(text)?.index ?? 0).split('\n').length
  const isFar = before > READ_LINES / 2
  const from = Math.max(READ_LINES / 2, before - LINES_BEFORE)
  const read = isFar
    ? [...lines.slice(0, READ_LINES / 2), ...lines.slice(from, from + READ_LINES / 2)]
    : lines.slice(0, READ_LINES)
  return Buffer.from(read.join('\n'), 'latin1')
}

const reply = (responseCode: number, message: string): Error => Object.assign(new Error(message), { responseCode })

function failed({ onFailure }: BounceServerDeps, error: unknown): Error {
  onFailure(error)
  return reply(451, '4.3.0 The report could not be recorded: try again')
}
