import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { createApiKeys } from '../src/companies/company-access.ts'
import type { Pool } from '../src/db/connect.ts'
import type { Permission } from '../src/http/admission/caller.ts'
import { createRequestLimiter } from '../src/http/admission/rate-limit.ts'
import type { BodyPaces } from '../src/http/body/body-budget.ts'
import { createServer, type ServerDeps } from '../src/http/server/server.ts'
import { type Clock, systemClock } from '../src/platform/clock.ts'
import { newApiSecret, newClientId } from '../src/platform/ids.ts'
import { type Config, readConfig } from '../src/platform/settings/config.ts'
import { createMetrics } from '../src/platform/telemetry/metrics.ts'
import { createSessions } from '../src/sessions/session.ts'
import { compareAnswers } from './contract/described-answers.ts'

export const ADMIN_TOKEN = 'operator-token-for-tests-0123456789'

type ApiOptions = {
  db: Pool
  /** Registers the routes under test. */
  routes: (app: FastifyInstance) => void | Promise<void>
  config?: Partial<Config>
  clock?: Clock
  /** With the console. */
  hasConsole?: boolean
  bounds?: ServerDeps['bounds']
  paces?: BodyPaces
  /** Each line that is logged, parsed. */
  onLog?: (line: Record<string, unknown>) => void
}

/** The real HTTP side with routes of the test's own; the caller closes it. */
export async function createTestApi({
  db,
  routes,
  config = {},
  clock = systemClock,
  hasConsole,
  bounds,
  paces,
  onLog,
}: ApiOptions) {
  const deps = {
    config: { ...readConfig({ ADMIN_TOKEN, HOST: '127.0.0.1' }), ...config },
    db,
    pool: db,
    clock,
    metrics: createMetrics(),
    log: pino({ level: onLog ? 'debug' : 'silent' }, { write: (line: string) => onLog?.(JSON.parse(line)) }),
  }
  const apiKeys = createApiKeys(deps)
  const sessions = hasConsole ? createSessions({ ...deps, apiKeys }) : undefined
  const limiter = await createRequestLimiter(deps)
  const bound = { ...(bounds && { bounds }), ...(paces && { paces }) }
  const app = await createServer({ ...deps, ...bound, apiKeys, sessions, limiter })
  await routes(app)
  compareAnswers(app)
  await app.ready()
  return { app, apiKeys, sessions }
}

type KeyOptions = {
  companyId?: number
  permissions?: Permission[]
  allowedOrigins?: string[]
  rateLimitPerMinute?: number
  expiresAt?: Date | null
}

/** A key, of a company of its own unless one is named; `headers` authenticate with it. */
export async function createTestKey(db: Pool, options: KeyOptions = {}) {
  const companyId = options.companyId ?? (await createTestCompany(db, options.rateLimitPerMinute))
  const clientId = newClientId()
  const secret = newApiSecret()
  await db`
    insert into api_keys (client_id, company_id, name, digest, permissions, allowed_origins, expires_at)
    values (
      ${clientId},
      ${companyId},
      'Test key',
      ${createHash('sha256').update(secret).digest()},
      ${options.permissions ?? ['WhatsApp', 'Transactional']},
      ${options.allowedOrigins ?? []},
      ${options.expiresAt ?? null}
    )
  `
  const token = `PARLEY-${clientId}-${secret}`
  return { companyId, clientId, token, headers: { authorization: `Bearer ${token}` } }
}

export async function createTestCompany(db: Pool, rateLimitPerMinute = 100_000): Promise<number> {
  const [company] = await db<{ id: number }[]>`
    insert into companies (name, rate_limit_per_minute) values ('Test company', ${rateLimitPerMinute}) returning id`
  return company!.id
}
