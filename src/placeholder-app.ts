import Fastify from 'fastify'
import type { App, AppDeps } from './start.ts'

/** Stands in until src/app.ts is there. */
export function buildApp(deps: AppDeps): App {
  const app = Fastify()
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async () => {
    await deps.db`select 1`
    return { status: 'ok' }
  })
  return app
}
