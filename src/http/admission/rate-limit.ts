import type { FastifyReply } from 'fastify'
import type { Redis } from 'ioredis'
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
} from 'rate-limiter-flexible'
import type { Pool } from '../../db/connect.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import { type Clock, systemClock } from '../../platform/clock.ts'
import { type AppError, rateLimitExceeded } from '../../platform/errors.ts'
import type { Config } from '../../platform/settings/config.ts'

export const WINDOW_SECONDS = 60
/** Requests per window on the standard plan, and per address without a valid key. */
export const STANDARD_LIMIT = 100
/** Requests per console session, and sign-in attempts per address. */
export const SESSION_LIMIT = 600
export const SIGN_IN_LIMIT = 10
export const AGENT_CONTACTS_LIMIT = 1_000
const HOUR_SECONDS = 3_600

const MAX_BATCH = 1_000
/** Above either bound, requests are refused with 503. */
const MAX_WAITING = 5_000
const MAX_WAIT_MS = 2_000

export type Standing = { limit: number; remaining: number; isOver: boolean; resetAt: Date; retryAfterSeconds: number }

export type RequestLimiter = {
  countCompany(companyId: number, limit: number): Promise<Standing>
  countKey(clientId: string, limit: number): Promise<Standing>
  countKeyAddress(clientId: string, address: string, limit: number): Promise<Standing>
  countAddress(address: string): Promise<Standing>
  countSession(sessionId: number): Promise<Standing>
  countSessionsOf(companyId: number, limit: number): Promise<Standing>
  countShownContacts(sessionId: number, contacts: number): Promise<Standing>
  countStoredBytes(clientId: string, bytes: number, limit: number): Promise<Standing>
  countStoredBytesFrom(clientId: string, address: string, bytes: number, limit: number): Promise<Standing>
  countSignIn(address: string): Promise<Standing>
  close(): Promise<void>
}

type Deps = {
  config: Pick<Config, 'databaseUrl' | 'redisUrl' | 'processes'>
  db: Pool
  clock: Clock
  onRedisError?: (error: Error) => void
}
type Use = { key: string; points: number; isHourly: boolean }
type Count = { place: number; msBeforeNext: number }

/**
 * Counts requests per 60 s and bytes per hour, exactly across all processes (decisions: Rate limit): in PostgreSQL, or
 * in Redis with PostgreSQL as fallback. A single process on the embedded database counts in memory. Requests arriving
 * during a write share the next one.
 */
export async function createRequestLimiter(deps: Deps): Promise<RequestLimiter> {
  const { redisUrl } = deps.config
  const redis = redisUrl === undefined ? undefined : await connectRedis(redisUrl, deps.onRedisError)
  const limiter = chooseLimiter(deps, redis, WINDOW_SECONDS)
  const hourly = chooseLimiter(deps, redis, HOUR_SECONDS)
  const count = createStatementBatcher<Use, Count>({
    run: (uses) => countMany(({ isHourly }) => (isHourly ? hourly : limiter), uses),
    maxItems: MAX_BATCH,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    companyOf: ({ key }) => key,
    maxRunning: limiter instanceof RateLimiterMemory ? Number.POSITIVE_INFINITY : 2,
  })
  const stand = async (key: string, limit: number, points = 1, isHourly = false): Promise<Standing> =>
    toStanding(await count({ key, points, isHourly }), limit, deps.clock)

  return {
    countCompany: (companyId, limit) => stand(`company:${companyId}`, limit),
    countKey: (clientId, limit) => stand(`key:${clientId}`, limit),
    countKeyAddress: (clientId, address, limit) => stand(`key:${clientId}:${address}`, limit),
    countAddress: (address) => stand(`address:${address}`, STANDARD_LIMIT),
    countSession: (sessionId) => stand(`session:${sessionId}`, SESSION_LIMIT),
    countSessionsOf: (companyId, limit) => stand(`sessions:${companyId}`, limit),
    countShownContacts: (sessionId, contacts) => stand(`contacts:${sessionId}`, AGENT_CONTACTS_LIMIT, contacts),
    countStoredBytes: (clientId, bytes, limit) => stand(`stored:${clientId}`, limit, bytes, true),
    countStoredBytesFrom: (clientId, address, bytes, limit) =>
      stand(`stored:${clientId}:${address}`, limit, bytes, true),
    countSignIn: (address) => stand(`sign-in:${address}`, SIGN_IN_LIMIT),
    close: async () => redis?.disconnect(),
  }
}

/** Adds the rate-limit headers. @throws {AppError} `refusal`, else 429 above the limit */
export function refuseOver(reply: FastifyReply, standing: Standing, refusal?: AppError): void {
  const { limit, remaining, resetAt, isOver, retryAfterSeconds } = standing
  reply
    .header('x-ratelimit-limit', String(limit))
    .header('x-ratelimit-remaining', String(remaining))
    .header('x-ratelimit-reset', String(Math.ceil(resetAt.getTime() / 1000)))
  if (refusal !== undefined) throw refusal
  if (isOver) throw rateLimitExceeded(retryAfterSeconds)
}

function toStanding({ place, msBeforeNext }: Count, limit: number, clock: Clock): Standing {
  return {
    limit,
    remaining: Math.max(limit - place, 0),
    isOver: place > limit,
    resetAt: new Date(clock.now().getTime() + msBeforeNext),
    retryAfterSeconds: Math.max(Math.ceil(msBeforeNext / 1000), 1),
  }
}

/** Writes once per key; each request gets its own rank, in order. */
async function countMany(limiterOf: (use: Use) => RateLimiterAbstract, uses: readonly Use[]): Promise<Count[]> {
  const before = new Map<string, Count>()
  const write = async ([key, ofKey]: [string, Use[]]): Promise<void> => {
    const points = ofKey.reduce((sum, use) => sum + use.points, 0)
    const [use] = ofKey
    if (use === undefined) return
    const { consumedPoints, msBeforeNext } = await limiterOf(use).consume(key, points)
    before.set(key, { place: consumedPoints - points, msBeforeNext })
  }
  await Promise.all([...Map.groupBy(uses, ({ key }) => key)].map(write))

  return uses.map(({ key, points }) => {
    const count = before.get(key)
    if (count === undefined) throw new Error('A key was not counted')
    count.place += points
    return { ...count }
  })
}

/** Larger numbers are timestamps in ms, not points. */
const MOMENTS = 1_000_000_000_000
// Limits are compared here; the library must never see a full window.
const options = { points: 2_000_000_000 }

function chooseLimiter(deps: Deps, redis: Redis | undefined, duration: number): RateLimiterAbstract {
  const { databaseUrl, processes } = deps.config
  const isAlone = databaseUrl === undefined && processes === 1
  const own = isAlone ? new RateLimiterMemory({ ...options, duration, keyPrefix: '' }) : inDatabase(deps, duration)
  if (redis === undefined) return own
  return new RateLimiterRedis({
    ...options,
    duration,
    storeClient: redis,
    keyPrefix: 'parley',
    rejectIfRedisNotReady: true,
    insuranceLimiter: own,
  })
}

/** Converts between process time, used by the library, and database time: process clocks differ. */
function inDatabase({ db, clock }: Deps, duration: number): RateLimiterPostgres {
  const query = async ({ text, values }: { text: string; values: (string | number | null)[] }) => {
    const ahead = clock.now().getTime() - systemClock.now().getTime()
    const moved = values.map((value) => (typeof value === 'number' && value > MOMENTS ? value + ahead : value))
    const rows = await db.unsafe<{ points: number; expire: number }[]>(text, moved, { prepare: true })
    return { rows: rows.map((row) => ({ ...row, expire: row.expire - ahead })), rowCount: rows.count }
  }
  return new RateLimiterPostgres({
    ...options,
    duration,
    storeClient: { query },
    storeType: 'client',
    tableName: 'rate_limits',
    tableCreated: true,
    keyPrefix: '',
  })
}

/** Commands fail at once while disconnected, so that the fallback counts instead. */
async function connectRedis(url: string, onError: (error: Error) => void = () => {}): Promise<Redis> {
  // Loaded on demand: the client takes 20 MB.
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: 500 })
  redis.on('error', onError)
  return redis
}
