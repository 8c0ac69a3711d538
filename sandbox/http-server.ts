import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Answer, jsonAnswer, type Received } from './answer.ts'

/** Large enough for the largest file that the provider takes. */
const BODY_LIMIT = 110 * 1024 * 1024
/** Longer than any bench or test pauses between two requests on one connection. */
const KEEP_ALIVE_MS = 10 * 60 * 1000
const DRIP_MS = 250

export type Handler = (request: Received) => Answer | Promise<Answer>

/** A bare HTTP server: reads each request to its end, answers what the handler says after `latencyOf` it. */
export function createHttpServer(handle: Handler, latencyOf: (request: Received) => number): Server {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0, noDelay: true })
  server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
    response.sendDate = false
    readBody(incoming, (body) => {
      if (body === undefined) return write(incoming, response, TOO_LARGE)
      const request = receive(incoming, body)
      const answer = safely(handle, request)
      const waitMs = latencyOf(request)
      if (answer instanceof Promise) answer.then((late) => writeAfter(waitMs, incoming, response, late))
      else writeAfter(waitMs, incoming, response, answer)
    })
  })
  return server
}

const TOO_LARGE = jsonAnswer({ error: { message: 'The body is too large' } }, 413)

function readBody(incoming: IncomingMessage, done: (body: Buffer | undefined) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  incoming.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= BODY_LIMIT) chunks.push(chunk)
    else chunks.length = 0
  })
  incoming.on('end', () => {
    if (size > BODY_LIMIT) return done(undefined)
    const [first] = chunks
    done(chunks.length === 1 && first ? first : Buffer.concat(chunks))
  })
}

const receive = (incoming: IncomingMessage, body: Buffer): Received => ({
  method: incoming.method ?? 'GET',
  url: incoming.url ?? '/',
  base: `http://${incoming.headers.host ?? '127.0.0.1'}`,
  authorization: incoming.headers.authorization,
  apiKey: incoming.headers['d360-api-key']?.toString(),
  contentType: incoming.headers['content-type'],
  headers: incoming.headers,
  body,
})

/** A fault of our own must not take the whole program down with it. */
function safely(handle: Handler, request: Received): Answer | Promise<Answer> {
  try {
    const answer = handle(request)
    return answer instanceof Promise ? answer.catch(crashed) : answer
  } catch (error) {
    return crashed(error)
  }
}

function crashed(error: unknown): Answer {
  console.error(error)
  return jsonAnswer({ error: { message: `The sandbox itself failed: ${String(error)}` } }, 500)
}

function writeAfter(waitMs: number, incoming: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const wholeMs = waitMs + (answer.delayMs ?? 0)
  if (wholeMs > 0) setTimeout(write, wholeMs, incoming, response, answer)
  else write(incoming, response, answer)
}

function write(incoming: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (answer.fate === 'hang' || response.destroyed) return
  if (answer.fate === 'reset') {
    incoming.socket.resetAndDestroy()
    return
  }
  const { status, contentType, body, headers = {} } = answer
  if (answer.follow !== undefined) {
    response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' })
    response.on(
      'close',
      answer.follow((text) => void response.write(text)),
    )
    return
  }
  if (answer.fate === 'drip') {
    drip(response, status, contentType)
    return
  }
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  const others = Object.entries(headers).flat()
  response.writeHead(status, ['content-type', contentType, 'content-length', String(length), ...others])
  if (answer.fate === 'truncate') response.write(body.slice(0, length / 2), () => response.destroy())
  // ASCII goes out as latin1, which costs less to write than UTF-8.
  else response.end(body, length === body.length ? 'latin1' : 'utf8')
}

/** One byte at a time until the client closes. */
function drip(response: ServerResponse, status: number, contentType: string): void {
  response.writeHead(status, ['content-type', contentType])
  const timer = setInterval(() => response.write('.'), DRIP_MS)
  response.on('close', () => clearInterval(timer))
}
