import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { fileContent, Success } from '../../http/shapes.ts'
import { forbidden, rateLimitExceeded, serviceUnavailable, unauthorized } from '../../platform/errors.ts'
import { isRecord } from '../../platform/text/json-text.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import type { Arrival } from '../event-store.ts'
import type { SignatureCheck } from './admission.ts'

const PATH = '/public/v1/webhooks/whatsapp'
/** For providers without signatures. */
const PATH_WITH_SECRET = `${PATH}/:secret`
const BODY_LIMIT = 4 * 1024 * 1024

/** A repeated parameter is an array, refused like a wrong value. */
const Word = (description: string) =>
  Type.Optional(Type.Unsafe<unknown>({ type: 'string', description, 'x-lenient': true }))

const ProviderBody = Type.Optional(
  Type.Object(
    {},
    {
      title: 'ProviderEvents',
      additionalProperties: true,
      description: "Events in the provider's spelling.",
      example: { object: 'whatsapp_business_account', entry: [{ id: '102290129340398', changes: [] }] },
    },
  ),
)

const PROVIDER_DESCRIPTION = `The body, whatever its content, or everything that follows from it is stored before the answer. Returns 401 if the
body's senders have an app secret and the signature is wrong, or a webhook secret and the header X-Webhook-Secret is
wrong; if the body proves only some senders, their items are handled and the others are kept as unverified. An event about
an account alone must prove the secrets of one of a company's numbers on it. Returns 429 if too many of this client's
posts within an hour were answered 401, had no connected number or were unreadable, except for a body that proves itself;
503 if the body could not be stored, so that the provider sends it again.`

export type InboundRoutesDeps = {
  verifyToken: string | undefined
  accept: (posted: Arrival) => Promise<void>
  addressOf: (request: IncomingMessage) => string
  /** Seconds to refuse a client with too many refused or unroutable bodies; 0 if none. */
  refusedFor: (address: string) => number | Promise<number>
  checkSignature: SignatureCheck
  onRefused: (address: string, bytes: number) => void
  signatureOf: EventReader['signatureOf']
  isForLocked: (body: Buffer) => Promise<boolean>
}

/** Serves the provider webhook (spec: Provider-facing webhook; decisions 11), outside the API-key surface. */
export function inboundRoutes(deps: InboundRoutesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.removeAllContentTypeParsers()
    // Lists JSON explicitly: Fastify looks up types without their own parser on each request.
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
          summary: 'Answer the verification handshake',
          description: 'Returns the challenge if the verify token is right.',
          querystring: Type.Object({
            'hub.mode': Word('The word `subscribe`.'),
            'hub.verify_token': Word("The service's verify token."),
            'hub.challenge': Word('Text to return.'),
          }),
          response: { 200: fileContent('The challenge, verbatim.', { 'text/plain': '1158201444' }) },
        },
      },
      async (request, reply) => {
        const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge = '' } = request.query
        const isRight = mode === 'subscribe' && typeof token === 'string' && isSame(token, deps.verifyToken)
        if (!isRight || typeof challenge !== 'string') throw forbidden('The verify token is wrong')
        return reply.type('text/plain; charset=utf-8').header('x-content-type-options', 'nosniff').send(challenge)
      },
    )

    const refuseSpent = async (address: string) => {
      const seconds = await deps.refusedFor(address)
      if (seconds > 0)
        throw rateLimitExceeded(seconds, 'Too much of what you posted was refused or could not be routed')
    }

    /** Runs before the body is read: without credentials no body can be proven. */
    const refuseUnprovable = async (request: FastifyRequest) => {
      const { signature, secret } = credentialsOf(request)
      if (signature === null && secret === undefined) await refuseSpent(deps.addressOf(request.raw))
    }

    const credentialsOf = (request: FastifyRequest) => ({
      signature: deps.signatureOf(request.headers),
      secret: secretInPath(request) ?? headerOf(request, 'x-webhook-secret'),
    })

    const receive = async (request: FastifyRequest) => {
      const posted = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const { length } = posted
      const address = deps.addressOf(request.raw)
      const checked = await deps.checkSignature(posted, credentialsOf(request))
      if (checked.verdict === 'refused') {
        deps.onRefused(address, length)
        throw unauthorized('The signature or secret of the body is missing or wrong')
      }
      const { verdict, body, proof } = checked
      request.isProven = verdict === 'proven'
      if (verdict !== 'proven') await refuseSpent(address)
      if (await deps.isForLocked(body)) throw serviceUnavailable('The company is being moved: send it again', 30)
      const needsProof = verdict === 'partly'
      await deps.accept({ body, proof, needsProof, address: verdict === 'proven' ? null : address })
      return { success: true as const }
    }

    app.post(
      PATH,
      {
        config: { surface: 'provider', errors: ['unauthorized'] },
        bodyLimit: BODY_LIMIT,
        // Stored as raw bytes.
        validatorCompiler: () => () => true,
        onRequest: refuseUnprovable,
        schema: {
          tags: ['Provider'],
          operationId: 'receiveProviderEvents',
          summary: 'Receive provider events',
          description: PROVIDER_DESCRIPTION,
          body: ProviderBody,
          response: { 200: Success },
        },
      },
      receive,
    )

    app.post(
      PATH_WITH_SECRET,
      {
        config: { surface: 'provider', errors: ['unauthorized'] },
        bodyLimit: BODY_LIMIT,
        validatorCompiler: () => () => true,
        onRequest: refuseUnprovable,
        schema: {
          tags: ['Provider'],
          operationId: 'receiveProviderEventsWithSecret',
          summary: 'Receive events by secret path',
          description: 'For providers that can neither sign a body nor send a header.',
          params: Type.Object({ secret: Type.String({ description: "The sender's `webhookSecret`." }) }),
          body: ProviderBody,
          response: { 200: Success },
        },
      },
      receive,
    )
  }
}

const secretInPath = ({ params }: FastifyRequest): string | undefined =>
  isRecord(params) && typeof params.secret === 'string' ? params.secret : undefined

const headerOf = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const isSame = (actual: string, expected: string | undefined): boolean =>
  expected !== undefined && timingSafeEqual(digest(actual), digest(expected))
