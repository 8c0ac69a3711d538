import { type Dispatcher, errors } from 'undici'
import { type Clock, monotonicMs, systemClock } from '../../platform/clock.ts'
import { DeadlinePassed, parseRetryAfter, startRequest } from '../../platform/outgoing/exchange.ts'
import { createProxiedAgent, NO_PROXIES } from '../../platform/outgoing/proxies.ts'
import { AddressNotPublic, guardedConnector, isPublicHost, isReceiverPort, type Resolve } from './receiver-address.ts'

/** Covers the whole attempt: name, connection, TLS, headers and body. */
export const ATTEMPT_TIMEOUT_MS = 10_000
const MAX_HEADER_BYTES = 32_768
const MAX_INTERIM_ANSWERS = 20
const IDLE_MS = 4_000
const LONGEST_IDLE_MS = 30_000
/** Lets a receiver move to another address. */
const CONNECTION_LIFE_MS = 60_000
/** Agents scan all connections of a host: 35 unresponsive receivers on one host blocked the process for up to 200 ms. */
const AGENTS = 64

export type ReceiverTarget = {
  url: string
  method: 'POST' | 'GET'
  headers: Record<string, string>
  body: Buffer
  timeoutMs: number
  registrationId: number
}

/** `delivered`: complete 2xx; `refused`: other complete answer; `unreachable`: no complete answer; `blocked`: not attempted. */
export type AttemptOutcome = {
  kind: 'delivered' | 'refused' | 'unreachable' | 'blocked'
  statusCode: number | null
  response: string | null
  errorMessage: string | null
  /** From a 429 or 503, unbounded. */
  retryAfterSeconds: number | null
  durationMs: number
}

type ReceiverClientOptions = {
  allowPrivate: boolean
  clock?: Clock
  connectTimeoutMs?: number
  resolve?: Resolve
  ca?: string
  /** Must guard addresses itself. */
  proxy?: string | undefined
}

export type ReceiverClient = {
  /** Makes one attempt. Never throws or follows redirects. */
  post(target: ReceiverTarget): Promise<AttemptOutcome>
  close(): Promise<void>
}

/** Creates the only client for receivers. Doesn't bound attempts in flight, lest one slow receiver block others: lanes do. */
export function createReceiverClient(options: ReceiverClientOptions): ReceiverClient {
  const agents = new Map<number, Dispatcher>()
  const agentOf = (place: number): Dispatcher => {
    const agent = agents.get(place) ?? createAgent(options)
    agents.set(place, agent)
    return agent
  }
  const clock = options.clock ?? systemClock
  return {
    post: (target) => post(agentOf(target.registrationId % AGENTS), clock, options.allowPrivate, target),
    close: async () => void (await Promise.all([...agents.values()].map((agent) => agent.destroy()))),
  }
}

function createAgent({ proxy, ...options }: ReceiverClientOptions): Dispatcher {
  const guard = { connectTimeoutMs: ATTEMPT_TIMEOUT_MS, ...options }
  return createProxiedAgent(proxy === undefined ? NO_PROXIES : { http: proxy, https: proxy, except: '' }, {
    connect: guardedConnector(guard),
    connectTimeoutMs: guard.connectTimeoutMs,
    ...(options.ca !== undefined && { ca: options.ca }),
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: LONGEST_IDLE_MS,
    clientTtl: CONNECTION_LIFE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

async function post(
  agent: Dispatcher,
  clock: Clock,
  allowPrivate: boolean,
  target: ReceiverTarget,
): Promise<AttemptOutcome> {
  const startedAt = monotonicMs()
  const answer = emptyAnswer()
  try {
    await sendRequest(agent, checkedUrl(target.url, allowPrivate), target, answer)
    return { ...answered(answer, clock.now()), durationMs: elapsed(startedAt) }
  } catch (error) {
    const failure = attemptFailure(error, answer.statusCode, target.timeoutMs)
    const response = answer.statusCode === null ? null : answerText(answer)
    const { statusCode } = answer
    return { ...failure, statusCode, response, retryAfterSeconds: null, durationMs: elapsed(startedAt) }
  }
}

/** Stored registrations may predate a rule. */
function checkedUrl(text: string, allowPrivate: boolean): URL {
  const url = new URL(text)
  if (!isReceiverPort(url.port)) throw new PortNotAllowed()
  if (!allowPrivate && (url.protocol !== 'https:' || !isPublicHost(url.hostname))) throw new AddressNotPublic()
  return url
}

/** Fills `answer` as data arrives, to keep the received part. Aborting limits an endless answer to 64 KiB. */
function sendRequest(agent: Dispatcher, url: URL, target: ReceiverTarget, answer: ReceiverAnswer): Promise<void> {
  const { method, headers, body } = target
  const options = { origin: url.origin, path: url.pathname + url.search, method, headers, body, reset: false }
  return new Promise((resolve, reject) => {
    let interimAnswers = 0
    const request = startRequest(agent, options, target.timeoutMs, {
      onHeaders(statusCode, received) {
        if (statusCode < 200) {
          interimAnswers += 1
          if (interimAnswers > MAX_INTERIM_ANSWERS) request.abort(new TooManyInterimAnswers())
          return
        }
        answer.statusCode = statusCode
        answer.retryAfter = firstOf(received['retry-after'])
      },
      onData(chunk) {
        if (appendChunk(answer, chunk)) return
        resolve()
        request.abort(new AnswerCut())
      },
      onEnd: resolve,
      onError: reject,
    })
  })
}

function answered(answer: ReceiverAnswer, now: Date): Omit<AttemptOutcome, 'durationMs'> {
  const statusCode = answer.statusCode ?? 0
  const errorMessage = describeRefusal(statusCode)
  const mayAsk = statusCode === 429 || statusCode === 503
  return {
    kind: errorMessage === null ? 'delivered' : 'refused',
    statusCode,
    response: answerText(answer),
    errorMessage,
    retryAfterSeconds: mayAsk ? parseRetryAfter(answer.retryAfter, now) : null,
  }
}

const firstOf = (value: string | string[] | undefined): string | null =>
  (Array.isArray(value) ? value[0] : value) ?? null

const elapsed = (startedAt: number): number => Math.round(monotonicMs() - startedAt)

type ReceiverAnswer = {
  statusCode: number | null
  retryAfter: string | null
  chunks: Uint8Array[]
  size: number
}

export const MAX_ANSWER_BYTES = 65_536

const REDIRECTS = new Set([301, 302, 303, 307, 308])

const emptyAnswer = (): ReceiverAnswer => ({ statusCode: null, retryAfter: null, chunks: [], size: 0 })

/** Returns false once the answer is full. */
function appendChunk(answer: ReceiverAnswer, chunk: Uint8Array): boolean {
  const head = chunk.subarray(0, MAX_ANSWER_BYTES - answer.size)
  answer.chunks.push(head)
  answer.size += head.length
  return answer.size < MAX_ANSWER_BYTES
}

/** Returns the body for PostgreSQL, up to 64 KiB of UTF-8. NUL and invalid bytes become U+FFFD; a cut character is dropped. */
export function answerText(answer: ReceiverAnswer): string {
  if (answer.size === 0) return ''
  const isCut = answer.size >= MAX_ANSWER_BYTES
  const text = new TextDecoder('utf-8')
    .decode(Buffer.concat(answer.chunks), { stream: isCut })
    .replaceAll('\0', '\ufffd')
  // A UTF-16 unit takes at most three bytes: most answers need no measuring.
  if (text.length * 3 <= MAX_ANSWER_BYTES) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_ANSWER_BYTES))
  return text.slice(0, read)
}

/** Returns the error message of a complete answer; null for any 2xx. */
function describeRefusal(statusCode: number): string | null {
  if (statusCode >= 200 && statusCode < 300) return null
  if (REDIRECTS.has(statusCode)) return `the receiver answered with a redirect (${statusCode}), which is not followed`
  return `the receiver answered ${statusCode}`
}

type AttemptFailure = { kind: 'unreachable' | 'blocked'; errorMessage: string }

class PortNotAllowed extends Error {
  constructor() {
    super("the receiver's port is not 80, 443 or one of 1024 to 65535")
    this.name = 'PortNotAllowed'
  }
}
class TooManyInterimAnswers extends Error {}
/** Not a failure. */
class AnswerCut extends Error {}

const TLS_CODE =
  /^(?:ERR_TLS|ERR_SSL|CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERROR_IN_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/
const BROKEN_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'])

/** Must use error codes only: error texts contain addresses, which would reveal the internal network. */
function attemptFailure(error: unknown, statusCode: number | null, timeoutMs: number): AttemptFailure {
  if (error instanceof AddressNotPublic || error instanceof PortNotAllowed)
    return { kind: 'blocked', errorMessage: error.message }
  return { kind: 'unreachable', errorMessage: describe(error, statusCode, `${timeoutMs / 1000} s`) }
}

function describe(error: unknown, statusCode: number | null, limit: string): string {
  if (error instanceof TooManyInterimAnswers) return 'the receiver sent too many interim (1xx) answers'
  if (error instanceof DeadlinePassed) {
    if (statusCode === null) return `the receiver did not answer within ${limit}`
    return `the receiver's answer (${statusCode}) was not complete within ${limit}`
  }
  if (error instanceof errors.HTTPParserError) return "the receiver's answer is not valid HTTP"
  const { code, syscall } = systemError(error)
  if (/^(?:query|getaddrinfo)/.test(syscall)) return `the receiver's name could not be resolved (${code})`
  if (code === 'ENOTFOUND') return "the receiver's name could not be resolved (ENOTFOUND)"
  if (code === 'ECONNREFUSED') return 'the receiver refused the connection (ECONNREFUSED)'
  if (code === 'UND_ERR_ABORTED') return 'the proxy refused the connection to the receiver'
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    return `no connection to the receiver within ${limit} (${code})`
  if (TLS_CODE.test(code)) return `the TLS connection to the receiver failed (${code})`
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return "the headers of the receiver's answer are too large"
  if (BROKEN_CODES.has(code)) {
    if (statusCode === null) return 'the receiver closed the connection before it answered'
    return `the receiver closed the connection in the middle of its answer (${statusCode})`
  }
  return `the request to the receiver failed (${code})`
}

function systemError(error: unknown): { code: string; syscall: string } {
  if (typeof error !== 'object' || error === null) return { code: 'UNKNOWN', syscall: '' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const syscall = 'syscall' in error && typeof error.syscall === 'string' ? error.syscall : ''
  if (code === undefined && error instanceof AggregateError) return systemError(error.errors[0])
  return { code: code ?? 'UNKNOWN', syscall }
}
