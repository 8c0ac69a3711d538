import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Pool } from '../db/connect.ts'
import { serviceUnavailable } from '../errors.ts'
import type { Metrics } from '../metrics.ts'

const DATABASE_DEADLINE_MS = 1_000

const config = { surface: 'health' } as const
const schema = { hide: true }

type HealthDeps = {
  db: Pool
  metrics: Pick<Metrics, 'registry'>
  /** Faults of mail servers do not make a process unready: they are shown for the operator. */
  mailHealth: { details(): object }
}

/** `/healthz`: the process lives. `/readyz`: the database answers within a second. `/metrics`: for Prometheus. */
export function healthRoutes(deps: HealthDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/healthz', { config, schema }, async () => ({ status: 'ok' }))

    app.get('/readyz', { config, schema }, async () => {
      if (!(await answersInTime(deps.db))) throw serviceUnavailable('The database does not answer')
      return { status: 'ok', details: { mail: deps.mailHealth.details() } }
    })

    app.get('/metrics', { config, schema }, async (_request, reply) => {
      reply.type(deps.metrics.registry.contentType)
      return await deps.metrics.registry.metrics()
    })
  }
}

async function answersInTime(db: Pool): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const deadline = setTimeout(() => resolve(false), DATABASE_DEADLINE_MS)
  db`select 1`.then(
    () => resolve(true),
    () => resolve(false),
  )
  try {
    return await promise
  } finally {
    clearTimeout(deadline)
  }
}
