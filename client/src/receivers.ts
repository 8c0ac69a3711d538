import { ParleyError } from './error.ts'
import type { Envelope, WebhookEvent } from './generated/schemas.ts'
import { type VerifyOptions, verifyWebhook } from './webhook.ts'

export type ReceiverOptions = VerifyOptions & {
  /** The secret of the registration; several while it changes. */
  secret: string | string[]
  /**
   * Called with each received message. When it returns, the delivery is acknowledged; when it throws, Parley delivers again. The
   * same message may come twice: `envelope.message.wamid` recognises it.
   */
  onMessage?: (envelope: Envelope) => unknown
  /** The same for the other events that the registration names; `event.id` recognises one that comes twice. */
  onEvent?: (event: Exclude<WebhookEvent, Envelope>) => unknown
  /** The largest body that is read. Default: 5 MiB, more than Parley sends. */
  maxBytes?: number
}

type Answer = { status: number; text: string }
type Payload = AsyncIterable<Uint8Array> & { headers: Record<string, string | string[] | undefined> }
type Incoming = Payload & { body?: unknown }
type Outgoing = { statusCode: number; end(text: string): unknown }

const MAX_BYTES = 5 * 1024 * 1024

/**
 * A handler for Express, and a listener for `createServer` of `node:http`. Reads the body itself: mount it before
 * `express.json()`, or behind `express.raw({ type: 'application/json' })`.
 */
export function expressReceiver(
  options: ReceiverOptions,
): (request: Incoming, response: Outgoing, next?: (error: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      const body = await bodyOf(request, options.maxBytes ?? MAX_BYTES)
      const { status, text } = body === undefined ? TOO_LARGE : await receive(body, request.headers, options)
      response.statusCode = status
      response.end(text)
    } catch (error) {
      if (next !== undefined) return next(error)
      response.statusCode = 500
      response.end('The delivery was not handled')
    }
  }
}

type FastifyRequest = { headers: Record<string, string | string[] | undefined>; body: unknown }
type FastifyReply = { code(status: number): { send(body: string): unknown } }
type Fastify = {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(type: string, parser: (request: unknown, payload: Payload) => Promise<unknown>): unknown
  post(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): unknown
}

/** A plugin for Fastify: `app.register(fastifyReceiver({ secret, onMessage }), { prefix: '/hooks/whatsapp' })`. */
export function fastifyReceiver(options: ReceiverOptions): (app: Fastify) => Promise<void> {
  return async (app) => {
    // The parsers of a plugin are its own: other routes keep theirs.
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_, payload) => readBody(payload, options.maxBytes ?? MAX_BYTES))
    app.post('/', async ({ headers, body }, reply) => {
      const { status, text } = body instanceof Uint8Array ? await receive(body, headers, options) : TOO_LARGE
      return reply.code(status).send(text)
    })
  }
}

const TOO_LARGE: Answer = { status: 413, text: 'The body is too large' }

async function receive(body: Uint8Array, headers: Payload['headers'], options: ReceiverOptions): Promise<Answer> {
  const { secret, onMessage, onEvent, ...verification } = options
  const event = await verifyWebhook(body, headers, secret, verification).catch((error: unknown) => {
    if (error instanceof ParleyError) return undefined
    throw error
  })
  if (event === undefined) return { status: 401, text: 'The signature is not right' }
  if (event.event === 'whatsapp.message.received') await onMessage?.(event)
  else await onEvent?.(event)
  return { status: 200, text: 'ok' }
}

/** The bytes of an Express request, which `express.raw` may have read already. */
function bodyOf(request: Incoming, maxBytes: number): Promise<Uint8Array | undefined> {
  if (request.body instanceof Uint8Array) return Promise.resolve(request.body)
  if (request.body === undefined) return readBody(request, maxBytes)
  throw new TypeError('Mount the receiver before express.json(): it needs the raw body')
}

/** The bytes of a request; undefined when there are more than allowed. */
async function readBody(payload: Payload, maxBytes: number): Promise<Uint8Array | undefined> {
  // Leaving the loop below closes the connection, so that the sender gets no answer.
  if (Number(payload.headers['content-length']) > maxBytes) return undefined
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of payload) {
    length += chunk.length
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  const body = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    body.set(chunk, offset)
    offset += chunk.length
  }
  return body
}
