import type { FastifyInstance } from 'fastify'
import { contactRoutes } from './contacts/contact-routes.ts'
import { conversationRoutes } from './conversations/conversation-routes.ts'
import { customFieldRoutes } from './custom-fields/custom-field-routes.ts'
import type { Deps } from './deps.ts'
import { healthRoutes } from './http/health-routes.ts'
import { createRequestLimiter } from './http/rate-limit.ts'
import { describeApi, serveReference } from './http/reference.ts'
import { createServer } from './http/server.ts'
import { inboundRoutes } from './inbound/inbound-routes.ts'
import { createInboundDeps } from './inbound-deps.ts'
import { mediaRoutes } from './media/media-routes.ts'
import { createMediaDeps } from './media-deps.ts'
import { sendRoutes } from './messages/send-routes.ts'
import { operatorRoutes } from './operator/operator-routes.ts'
import { createOperatorDeps } from './operator-deps.ts'
import { createSendDeps } from './send-deps.ts'
import { senderRoutes } from './senders/sender-routes.ts'
import { templateRoutes } from './templates/template-routes.ts'

/** What a process answers that only works: whether it lives, and its figures. */
export async function buildHealthApp(deps: Deps): Promise<FastifyInstance> {
  const app = await createServer({ ...deps, limiter: await createRequestLimiter(deps) })
  await app.register(healthRoutes(deps))
  return app
}

/**
 * The whole HTTP side: every route group, one line each, in the order of the specification. It does not listen yet;
 * closing it closes what it opened itself, not what it was handed.
 */
export async function buildApp(deps: Deps): Promise<FastifyInstance> {
  const limiter = await createRequestLimiter({
    ...deps,
    onRedisError: (error) => deps.log.warn({ reason: error.message }, 'redis.failed'),
  })
  const app = await createServer({ ...deps, limiter })
  await describeApi(app, deps.config)

  const media = createMediaDeps(deps)
  await app.register(sendRoutes(createSendDeps(deps)))
  await app.register(senderRoutes(deps))
  await app.register(templateRoutes(deps))
  await app.register(conversationRoutes({ ...deps, mediaAddress: media.signer.address }))
  await app.register(inboundRoutes(createInboundDeps(deps)))
  await app.register(mediaRoutes(media))
  await app.register(contactRoutes(deps))
  await app.register(customFieldRoutes(deps))
  await app.register(operatorRoutes(createOperatorDeps(deps)))
  await app.register(healthRoutes(deps))
  await serveReference(app)
  return app
}
