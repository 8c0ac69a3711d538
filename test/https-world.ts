import type { FastifyInstance } from 'fastify'
import { afterAll } from 'vitest'
import { healthRoutes } from '../src/http/server/health-routes.ts'
import type { Config } from '../src/platform/settings/config.ts'
import { createMetrics } from '../src/platform/telemetry/metrics.ts'
import { createTestApi, createTestKey } from './api.ts'
import { createTestDatabase } from './database.ts'

export const mailHealth = { details: () => ({ service: { status: 'ok' } }) }
export const OPEN = { metricsToken: undefined, baseUrl: 'http://127.0.0.1:3000' }

/** Opens servers with the health routes and a few routes of a company, and closes them at the end of the file. */
export async function startHttps() {
  const { db } = await createTestDatabase()
  const key = await createTestKey(db)
  const opened: FastifyInstance[] = []
  afterAll(async () => {
    for (const app of opened) await app.close()
  })

  async function open(config: Partial<Config> = {}): Promise<FastifyInstance> {
    const { app } = await createTestApi({
      db,
      config,
      routes: async (app) => {
        app.get('/public/v1/thing', async () => ({ ok: true }))
        app.post('/public/v1/thing', async (request) => ({ body: request.body }))
        app.post('/public/v1/events', { config: { surface: 'provider' } }, async () => ({ ok: true }))
        app.post('/public/v1/large', { bodyLimit: 8 * 1024 * 1024 }, async () => ({ ok: true }))
        await app.register(healthRoutes({ config: { ...OPEN, ...config }, db, metrics: createMetrics(), mailHealth }))
      },
    })
    opened.push(app)
    return app
  }

  const get = (
    app: FastifyInstance,
    remoteAddress: string,
    headers: Record<string, string> = {},
    url = '/public/v1/thing',
  ) => app.inject({ url, remoteAddress, headers: { ...key.headers, ...headers } })
  const statusOf = async (...args: Parameters<typeof get>): Promise<number> => (await get(...args)).statusCode
  return { db, key, opened, open, get, statusOf }
}

export const codeOf = (body: unknown) => (body as { error: { code: string } }).error.code
