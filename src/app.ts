import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Pool } from './db/connect.ts'
import { createApiKeys } from './http/authenticate.ts'
import { healthRoutes } from './http/health-routes.ts'
import { createRequestLimiter } from './http/rate-limit.ts'
import { describeApi, serveReference } from './http/reference.ts'
import { createServer } from './http/server.ts'
import type { Metrics } from './metrics.ts'

export type Deps = {
  config: Config
  db: Pool
  log: Logger
  clock: Clock
  metrics: Metrics
}

/**
 * The whole HTTP side: every route group, one line each, in the order of the specification. It does not listen yet;
 * closing it closes what it opened itself, not what it was handed.
 */
export async function buildApp(deps: Deps): Promise<FastifyInstance> {
  const apiKeys = createApiKeys(deps)
  const limiter = createRequestLimiter({
    ...deps,
    onRedisError: (error) => deps.log.warn({ reason: error.message }, 'redis.failed'),
  })
  const app = await createServer({ ...deps, apiKeys, limiter })
  await describeApi(app, deps.config)

  await app.register(healthRoutes(deps))
  await serveReference(app)
  return app
}
