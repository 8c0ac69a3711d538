import type { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import { isObject } from './events/json-member.ts'

const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** Some hosts refuse clients without a name. */
export const USER_AGENT = 'parley'

/** One request and its outcome. Whether anything left the machine decides if it may be repeated. */
export type Exchange =
  | { kind: 'answered'; status: number; headers: Record<string, string | string[] | undefined>; body: Buffer }
  | { kind: 'not-sent'; detail: string }
  | { kind: 'no-answer'; detail: string }

export type Call = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  headers: Record<string, string>
  body?: string | Buffer | Readable
  /** Over everything: connecting, writing, headers and body. */
  timeoutMs: number
}

/** Connections to providers: kept open, many per host, since a send waits for its answer. */
export const createProviderAgent = (): Agent =>
  new Agent({
    connections: 512,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: 5_000 },
    keepAliveTimeout: 30_000,
    headersTimeout: 0,
    bodyTimeout: 0,
  })

/**
 * Makes one call and never throws. `not-sent` is promised only when no byte of the request was written to a socket;
 * everything after that without a whole answer is `no-answer`.
 */
export function exchange(dispatcher: Dispatcher, call: Call): Promise<Exchange> {
  const url = URL.parse(call.url)
  if (url === null) return Promise.resolve({ kind: 'not-sent', detail: 'the address is not valid' })
  return new Promise((resolve) => {
    let started = false
    let controller: Dispatcher.DispatchController | undefined
    let status = 0
    let headers: Record<string, string | string[] | undefined> = {}
    const chunks: Buffer[] = []
    let size = 0

    const finish = (result: Exchange) => {
      clearTimeout(timer)
      resolve(result)
    }
    const fail = (detail: string) => finish({ kind: started ? 'no-answer' : 'not-sent', detail })
    const timer = setTimeout(() => {
      fail(`no answer within ${call.timeoutMs} ms`)
      controller?.abort(new Error('deadline'))
    }, call.timeoutMs)

    dispatcher.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: call.method,
        headers: { 'user-agent': USER_AGENT, ...call.headers },
        body: call.body ?? null,
      },
      {
        onRequestStart(current) {
          controller = current
          started = true
        },
        onResponseStart(_controller, statusCode, received) {
          status = statusCode
          headers = received
        },
        onResponseData(current, chunk) {
          size += chunk.length
          if (size > MAX_ANSWER_BYTES) current.abort(new Error(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`))
          else chunks.push(chunk)
        },
        onResponseEnd() {
          finish({ kind: 'answered', status, headers, body: Buffer.concat(chunks) })
        },
        onResponseError(_controller, error) {
          fail(reasonOf(error))
        },
      },
    )
  })
}

function reasonOf(error: Error & { code?: string }): string {
  return error.code ? `${error.code}: ${error.message}` : error.message
}

/** The JSON object of an answer, or undefined when it is none: answers may be HTML, cut off, or not JSON at all. */
export function readJsonObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
