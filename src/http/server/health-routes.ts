import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Pool } from '../../db/connect.ts'
import { refreshed } from '../../platform/cache.ts'
import { forbidden, serviceUnavailable, unauthorized } from '../../platform/errors.ts'
import type { Config } from '../../platform/settings/config.ts'
import type { Metrics } from '../../platform/telemetry/metrics.ts'
import { METRICS_SPACING_MS } from '../../platform/telemetry/metrics.ts'
import { VERSION } from '../../platform/version.ts'
import { createTokenCheck } from '../admission/authenticate.ts'
import { withTimeout } from './answers/answers.ts'
import { isForwarded, isNearby, isUnrebindableHost } from './request-head.ts'
import type { Stopping } from './stopping.ts'

const DATABASE_DEADLINE_MS = 1_000

const config = { surface: 'health' } as const
const schema = { hide: true }

type HealthDeps = {
  config: Pick<Config, 'metricsToken' | 'baseUrl'>
  db: Pool
  metrics: Pick<Metrics, 'registry'>
  /** Merges metrics of all processes on the port; absent: only this process. */
  readMetrics?: (() => Promise<string>) | undefined
  /** Reported only; mail server faults must not make a process unready. */
  mailHealth: { details(): object }
  stopping?: Stopping
}

/** Registers `/healthz`, `/readyz` (database responds within 1 s) and `/metrics` (decisions: Starting). */
export function healthRoutes(deps: HealthDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/healthz', { config, schema }, async () => ({ status: 'ok', version: VERSION }))

    const isReader = createReaderCheck(deps.config)
    const readMetrics = refreshed(
      async () => deps.readMetrics?.() ?? deps.metrics.registry.metrics(),
      METRICS_SPACING_MS,
    )

    app.get('/readyz', { config, schema }, async (request) => {
      if (deps.stopping?.isStopping) throw serviceUnavailable('The process is stopping')
      if (!(await answers(deps.db))) throw serviceUnavailable('The database does not answer')
      const details = { mail: deps.mailHealth.details() }
      return { status: 'ok', ...(isReader(request) && { details }) }
    })

    app.get('/metrics', { config, schema }, async (request, reply) => {
      if (!isReader(request)) throw deps.config.metricsToken === undefined ? notNearby() : unauthorized()
      reply.type(deps.metrics.registry.contentType)
      return await readMetrics()
    })
  }
}

/** Without METRICS_TOKEN, only this machine and private networks can read metrics, safe from DNS rebinding. */
function createReaderCheck({
  metricsToken,
  baseUrl,
}: Pick<Config, 'metricsToken' | 'baseUrl'>): (request: FastifyRequest) => boolean {
  const hasToken = createTokenCheck(metricsToken)
  const own = new URL(baseUrl)
  return ({ raw: { headers, socket } }) => {
    if (metricsToken !== undefined) return hasToken(headers.authorization)
    return isNearby(socket.remoteAddress) && !isForwarded(headers) && isUnrebindableHost(own, headers.host ?? '')
  }
}

const notNearby = () =>
  forbidden(
    '/metrics is read from this machine or a private network without a proxy, under an IP address, localhost or the host of BASE_URL, or with METRICS_TOKEN',
  )

const answers = (db: Pool): Promise<boolean> =>
  withTimeout(db`select 1`, undefined, DATABASE_DEADLINE_MS).then(
    () => true,
    () => false,
  )
