import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { systemClock } from '../clock.ts'
import { createProxiedAgent, NO_PROXIES, type Proxies } from './proxies.ts'
import { parseRetryAfter } from './retry-after.ts'
import { startRequest } from './start-request.ts'

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
