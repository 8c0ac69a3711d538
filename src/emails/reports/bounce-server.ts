import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import type { Readable } from 'node:stream'
import { bulkhead } from 'cockatiel'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { networkOf } from '../../http/server/request-head.ts'
import type { MailReport } from '../../mailers/mailer.ts'
import { runMailTask } from '../rendering/mail-worker.ts'
import { type ReportToken, readReturnPath } from '../tracking/tracking-token.ts'
import type { ReturnedMail } from './delivery-report.ts'

/** Per process, for anonymous senders. Refused senders retry for days. */
const BOUNDS = {
  connections: 100,
  /** A quarter, so that no address can take all. */
  connectionsOfAddress: 25,
  idleMs: 60_000,
  sessionMs: 5 * 60_000,
  /** Room for a returned mail with attachments. */
  sessionBytes: 64 * 1024 * 1024,
  recipients: 20,
}
const LOOKUPS = 2
/** Enough for a report, which precedes the returned mail. */
const READ_BYTES = 512 * 1024
const READ_LINES = 4_096
const MACHINE_PART = /^content-type:\s*message\/(?:(?:global-)?delivery-status|feedback-report)/im
const LINES_BEFORE = 64
const CLOSE_MS = 5_000

type BounceServerDeps = {
  domain: string
  isReportToken(token: ReportToken): Promise<boolean>
  /** Must resolve only after the commit. */
  record(token: ReportToken, report: MailReport): Promise<void>
  onIgnored(): void
  onFailure(error: unknown): void
}

export type BounceServer = {
  listen(port: number, host: string): Promise<number>
  close(): Promise<void>
}

/** Serves `bounce+<token>@<domain>` only: 250 once the report is on disk, 451 if the write failed, for a retry. */
export function createBounceServer(deps: BounceServerDeps, others: Partial<typeof BOUNDS> = {}): BounceServer {
  const bounds = { ...BOUNDS, ...others }
  const named = new WeakMap<SMTPServerSession, number>()
  const lookups = bulkhead(LOOKUPS, bounds.connections)
  const server = new SMTPServer({
    authOptional: true,
    // Senders could not trust TLS without a certificate for the domain.
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

/** One at a time, so that other worker tasks wait for at most one report. */
const reading = bulkhead(1, Number.POSITIVE_INFINITY)

/** Returns undefined also if too slow to read: no mail server writes such mail. */
async function readInTurn(companyId: number, mail: ReturnedMail): Promise<MailReport | undefined> {
  const report = await reading.execute(() => runMailTask(companyId, 'report', mail))
  return report === 'too-slow' ? undefined : report
}

/** Drains the stream; returns the first lines, and the report after a long first part. */
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

const CHECK_MS = 1_000

type SocketBounds = {
  readonly connectionsOfAddress: number
  readonly sessionMs: number
  readonly sessionBytes: number
}

/** Ends connections over their time or byte limit; `isFull` checks the limit per address. */
export function boundSockets(server: Server, bounds: SocketBounds): { isFull(address: string): boolean } {
  const counts = new Map<string, number>()
  server.on('connection', (socket) => {
    const network = networkOf(socket.remoteAddress)
    counts.set(network, (counts.get(network) ?? 0) + 1)
    const timers = [
      setTimeout(() => socket.destroy(), bounds.sessionMs),
      setInterval(() => {
        if (socket.bytesRead > bounds.sessionBytes) socket.destroy()
      }, CHECK_MS),
    ]
    socket.once('close', () => {
      for (const timer of timers) clearTimeout(timer)
      const count = (counts.get(network) ?? 0) - 1
      if (count > 0) counts.set(network, count)
      else counts.delete(network)
    })
  })
  return { isFull: (address) => (counts.get(networkOf(address)) ?? 0) > bounds.connectionsOfAddress }
}
