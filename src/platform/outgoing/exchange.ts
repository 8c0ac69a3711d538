import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { monotonicMs, systemClock } from '../clock.ts'
import { createProxiedAgent, NO_PROXIES, type Proxies } from './proxies.ts'

const MAX_ANSWER_BYTES = 16 * 1024 * 1024
const LONGEST_WAIT_SECONDS = 999_999
const CONNECT_TIMEOUT_MS = 5_000
/** Some hosts refuse clients without a name. */
export const USER_AGENT = 'parley'

export type Exchange =
  | { kind: 'answered'; status: number; retryAfterSeconds: number | null; body: Buffer }
  | { kind: 'not-sent'; code: string | null; detail: string }
  | { kind: 'no-answer'; code: string | null; detail: string }

export type Call = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  headers: Record<string, string>
  body?: string | Buffer | Readable
  /** Covers connecting, writing, headers and body. */
  timeoutMs: number
}

/** Keeps many connections per host, since a send waits for its answer. */
export const createProviderAgent = (proxies: Proxies = NO_PROXIES): Dispatcher =>
  createProxiedAgent(proxies, {
    connections: 512,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    keepAliveTimeout: 30_000,
    headersTimeout: 0,
    bodyTimeout: 0,
  })

/** Never throws. `not-sent` guarantees that no byte was or will be written; without a whole answer: `no-answer`. */
export function exchange(dispatcher: Dispatcher, call: Call): Promise<Exchange> {
  const url = URL.parse(call.url)
  if (url === null) return Promise.resolve({ kind: 'not-sent', code: null, detail: 'the address is not valid' })
  const { method, body = null } = call
  const headers = { 'user-agent': USER_AGENT, ...call.headers }
  return new Promise((resolve) => {
    let answer: { status: number; retryAfterSeconds: number | null } = { status: 0, retryAfterSeconds: null }
    const chunks: Buffer[] = []
    let size = 0
    const options = { origin: url.origin, path: url.pathname + url.search, method, headers, body }
    const request = startRequest(dispatcher, options, call.timeoutMs, {
      onHeaders(status, received) {
        answer = { status, retryAfterSeconds: readRetryAfter(received['retry-after']) }
      },
      onData(chunk) {
        size += chunk.length
        if (size > MAX_ANSWER_BYTES) request.abort(new Error(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`))
        else chunks.push(chunk)
      },
      onEnd() {
        resolve({ kind: 'answered', ...answer, body: Buffer.concat(chunks) })
      },
      onError(error, isSent) {
        resolve({ kind: isSent ? 'no-answer' : 'not-sent', ...reasonOf(error) })
      },
    })
  })
}

/** Parses `Retry-After` to 1 to 999,999 seconds, else null. */
export function readRetryAfter(header: string | string[] | undefined): number | null {
  const seconds = parseRetryAfter(typeof header === 'string' ? header : null, systemClock.now()) ?? 0
  return seconds > 0 && seconds <= LONGEST_WAIT_SECONDS ? seconds : null
}

function reasonOf(error: Error & { code?: string }): { code: string | null; detail: string } {
  const code = error.code ?? null
  return { code, detail: code === null ? error.message : `${code}: ${error.message}` }
}

type AnswerHeaders = Record<string, string | string[] | undefined>

type RequestEvents = {
  /** Also called for interim (1xx) answers. */
  onHeaders(status: number, headers: AnswerHeaders): void
  onData(chunk: Buffer): void
  onEnd(): void
  /** `isSent` is false if no byte was or will be written. */
  onError(error: Error, isSent: boolean): void
}

export class DeadlinePassed extends Error {}

/**
 * Calls `onEnd` or `onError` once. The deadline covers everything; a connection that opens later stays unused, since
 * the timer alone would fire late in a paused process.
 */
export function startRequest(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  timeoutMs: number,
  events: RequestEvents,
): { abort(reason: Error): void } {
  const deadlineAt = monotonicMs() + timeoutMs
  const deadlinePassed = () => new DeadlinePassed(`no answer within ${timeoutMs} ms`)
  let controller: Dispatcher.DispatchController | undefined
  let isOver = false
  const end = (report: () => void) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    report()
  }
  const fail = (error: Error) =>
    end(() => {
      // Otherwise undici reads from an unsent body later, when nobody handles its errors.
      if (options.body instanceof Readable) options.body.destroy()
      events.onError(error, controller !== undefined)
      controller?.abort(error)
    })
  const timer = setTimeout(() => fail(deadlinePassed()), timeoutMs)
  dispatcher.dispatch(options, {
    // Runs right before the first byte. If this throws, undici drops the request. A second call would repeat a sent
    // request.
    onRequestStart(current) {
      if (isOver || controller !== undefined || monotonicMs() >= deadlineAt) throw deadlinePassed()
      controller = current
    },
    onResponseStart: (_, status, headers) => events.onHeaders(status, headers),
    onResponseData: (_, chunk) => {
      if (!isOver) events.onData(chunk)
    },
    onResponseEnd: () => end(() => events.onEnd()),
    onResponseError: (_, error) => fail(error),
  })
  return { abort: fail }
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Parses seconds or an HTTP date; returns null if absent, unreadable or past. */
export function parseRetryAfter(value: string | null, now: Date): number | null {
  const text = value?.trim() ?? ''
  if (/^[0-9]{1,10}$/.test(text)) return Number(text)
  if (!HTTP_DATE.test(text)) return null
  const seconds = Math.ceil((Date.parse(text) - now.getTime()) / 1000)
  return seconds > 0 ? seconds : null
}
