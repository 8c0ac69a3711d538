import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { forbidden, rateLimitExceeded, unauthorized } from '../errors.ts'
import { errorResponses } from '../http/shapes.ts'
import type { EventReader } from '../providers/events/event-reader.ts'
import type { Posted } from './accept.ts'
import type { SignatureCheck } from './check-signature.ts'
import { createProof } from './signature.ts'

const PATH = '/public/v1/webhooks/whatsapp'
/** For providers that do not sign: the secret as the last segment. */
const PATH_WITH_SECRET = `${PATH}/:secret`
const BODY_LIMIT = 4 * 1024 * 1024

/** A member that comes twice is an array, and refused like a wrong one. */
const Word = Type.Optional(Type.Unsafe<unknown>({ type: 'string', 'x-lenient': true }))

export type InboundRoutesDeps = {
  verifyToken: string | undefined
  /** Resolves when the bytes are on disk. */
  accept: (posted: Posted) => Promise<void>
  addressOf: (request: IncomingMessage) => string
  /** Seconds for which a client that posted too much that could not be placed is refused; 0: it is not refused. */
  refusedFor: (address: string) => number | Promise<number>
  checkSignature: SignatureCheck
  signatureOf: EventReader['signatureOf']
  /** Called after events were stored, to wake the worker of this process. */
  onStored: () => void
}

/** The provider-facing webhook (spec: Provider-facing webhook; decisions 11). Not part of the API-key surface. */
export function inboundRoutes(deps: InboundRoutesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.removeAllContentTypeParsers()
    // By name too: what has none of its own is looked up anew for each request.
    app.addContentTypeParser(['application/json', '*'], { parseAs: 'buffer' }, (_request, bytes, done) =>
      done(null, bytes),
    )

    app.get(
      PATH,
      {
        config: { surface: 'provider' },
        schema: {
          tags: ['Provider'],
          operationId: 'verifyProviderWebhook',
          summary: 'Verification handshake',
          security: [],
          querystring: Type.Object({ 'hub.mode': Word, 'hub.verify_token': Word, 'hub.challenge': Word }),
          response: { 200: Type.String({ description: 'The challenge, verbatim' }), 403: errorResponses()[403] },
        },
      },
      async (request, reply) => {
        const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge = '' } = request.query
        const isRight = mode === 'subscribe' && typeof token === 'string' && isSame(token, deps.verifyToken)
        if (!isRight || typeof challenge !== 'string') throw forbidden('The verify token is wrong')
        return reply.type('text/plain; charset=utf-8').header('x-content-type-options', 'nosniff').send(challenge)
      },
    )

    /** Before the body is read. */
    const refuseSpent = async (request: FastifyRequest) => {
      const seconds = await deps.refusedFor(deps.addressOf(request.raw))
      if (seconds > 0) throw rateLimitExceeded(seconds, 'Too much of what you posted could not be placed')
    }

    const receive = async (request: FastifyRequest, secret: string | undefined) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const proof = createProof(body, { signature: deps.signatureOf(request.headers), secret })
      const isGenuine = deps.checkSignature(body, proof)
      if (isGenuine !== true && !(await isGenuine)) {
        throw unauthorized('The signature or secret of the body is missing or wrong')
      }
      await deps.accept({ body, proof, address: deps.addressOf(request.raw) })
      deps.onStored()
      return { success: true as const }
    }

    app.post(
      PATH,
      {
        config: { surface: 'provider' },
        bodyLimit: BODY_LIMIT,
        onRequest: refuseSpent,
        schema: {
          tags: ['Provider'],
          operationId: 'receiveProviderEvents',
          summary: 'Receive events',
          security: [],
          description:
            'Answers 200 once the raw body is on disk, whatever it says; what follows from it is done afterwards. 401: a sender that it is about carries an app secret and the signature is wrong, or a webhook secret and the header X-Webhook-Secret is wrong. 429: too much of what this client posted in an hour belongs to no connected number or is unreadable. 503: it could not be stored, send it again.',
          response: {
            200: Type.Object({ success: Type.Literal(true) }),
            ...errorResponses({ 401: 'coded', 413: 'coded', 429: 'coded' }),
          },
        },
      },
      (request) => receive(request, headerOf(request, 'x-webhook-secret')),
    )

    app.post(
      PATH_WITH_SECRET,
      {
        config: { surface: 'provider' },
        bodyLimit: BODY_LIMIT,
        onRequest: refuseSpent,
        schema: {
          tags: ['Provider'],
          operationId: 'receiveProviderEventsWithSecret',
          summary: 'Receive events, with the secret in the path',
          security: [],
          description: 'For providers that can neither sign nor send a header of their own.',
          params: Type.Object({ secret: Type.String({ description: 'The `webhookSecret` of the sender' }) }),
          response: {
            200: Type.Object({ success: Type.Literal(true) }),
            ...errorResponses({ 401: 'coded', 413: 'coded', 429: 'coded' }),
          },
        },
      },
      (request) => receive(request, request.params.secret),
    )
  }
}

const headerOf = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const isSame = (given: string, expected: string | undefined): boolean =>
  expected !== undefined && timingSafeEqual(digest(given), digest(expected))
