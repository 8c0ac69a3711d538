import type { FastifyReply } from 'fastify'
import type { Redis } from 'ioredis'
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
} from 'rate-limiter-flexible'
import { createBatcher } from '../../batching/batch.ts'
import { type Clock, systemClock } from '../../clock.ts'
import type { Pool } from '../../db/connect.ts'
import type { Config } from '../../settings/config.ts'

export const WINDOW_SECONDS = 60
/** Requests per window of the standard plan, and of an address that has no valid key. */
export const STANDARD_LIMIT = 100
/** Requests per window of one session of the console, and attempts to sign in of one address. */
export const SESSION_LIMIT = 600
export const SIGN_IN_LIMIT = 10

const MAX_BATCH = 1_000
/** Requests that wait to be counted, and how long one waits; beyond either it is refused with 503. */
const MAX_WAITING = 5_000
const MAX_WAIT_MS = 2_000

/** Where a request stands in its window. */
export type Standing = { limit: number; remaining: number; isOver: boolean; resetAt: Date; retryAfterSeconds: number }

export type RequestLimiter = {
  /** Counts one request of a company against the company's own limit. */
  countCompany(companyId: number, limit: number): Promise<Standing>
  /** Counts one request of a key for browsers, against its own limit. */
  countKey(clientId: string, limit: number): Promise<Standing>
  /** Counts one request of a key for browsers against the address it came from. */
  countKeyAddress(clientId: string, address: string, limit: number): Promise<Standing>
  /** Counts one request without a valid key against the address it came from. */
  countAddress(address: string): Promise<Standing>
  /** Counts one request of a session of the console. */
  countSession(sessionId: number): Promise<Standing>
  /** Counts one attempt to sign in to the console against the address it came from. */
  countSignIn(address: string): Promise<Standing>
  close(): Promise<void>
}

type Deps = {
  config: Pick<Config, 'databaseUrl' | 'redisUrl' | 'processes'>
  db: Pool
  clock: Clock
  onRedisError?: (error: Error) => void
}
/** The place of one request in its window, counted from 1, and how long the window still lasts. */
type Count = { place: number; msBeforeNext: number }

/**
 * Counts requests in fixed windows of 60 seconds, exactly across all processes (decisions: Rate limit): in PostgreSQL, or
 * in Redis when there is one, with PostgreSQL while Redis is away. One process on the embedded database counts
 * in memory. Requests that arrive while a count is being written share the next one and are numbered in their order.
 */
export async function createRequestLimiter(deps: Deps): Promise<RequestLimiter> {
  const { redisUrl } = deps.config
  const redis = redisUrl === undefined ? undefined : await connectRedis(redisUrl, deps.onRedisError)
  const limiter = chooseLimiter(deps, redis)
  const count = createBatcher<string, Count>({
    run: (keys) => countMany(limiter, keys),
    maxItems: MAX_BATCH,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    companyOf: (key) => key,
    maxRunning: limiter instanceof RateLimiterMemory ? Number.POSITIVE_INFINITY : 2,
  })
  const stand = async (key: string, limit: number): Promise<Standing> => toStanding(await count(key), limit, deps.clock)

  return {
    countCompany: (companyId, limit) => stand(`company:${companyId}`, limit),
    countKey: (clientId, limit) => stand(`key:${clientId}`, limit),
    countKeyAddress: (clientId, address, limit) => stand(`key:${clientId}:${address}`, limit),
    countAddress: (address) => stand(`address:${address}`, STANDARD_LIMIT),
    countSession: (sessionId) => stand(`session:${sessionId}`, SESSION_LIMIT),
    countSignIn: (address) => stand(`sign-in:${address}`, SIGN_IN_LIMIT),
    close: async () => redis?.disconnect(),
  }
}

/** Sets the headers with a client's place in its window. */
export function setRateLimitHeaders(reply: FastifyReply, { limit, remaining, resetAt }: Standing): void {
  reply
    .header('x-ratelimit-limit', String(limit))
    .header('x-ratelimit-remaining', String(remaining))
    .header('x-ratelimit-reset', String(Math.ceil(resetAt.getTime() / 1000)))
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

/** One write per key for all its requests; each gets its own place, in order. */
async function countMany(limiter: RateLimiterAbstract, keys: string[]): Promise<Count[]> {
  const totals = new Map<string, number>()
  for (const key of keys) totals.set(key, (totals.get(key) ?? 0) + 1)

  const before = new Map<string, Count>()
  const write = async ([key, points]: [string, number]): Promise<void> => {
    const { consumedPoints, msBeforeNext } = await limiter.consume(key, points)
    before.set(key, { place: consumedPoints - points, msBeforeNext })
  }
  await Promise.all([...totals].map(write))

  return keys.map((key) => {
    const count = before.get(key)
    if (count === undefined) throw new Error('A key was not counted')
    count.place += 1
    return { ...count }
  })
}

/** Numbers above it are moments in milliseconds, not points. */
const MOMENTS = 1_000_000_000_000
// The companies' own limits are compared here: to the library no window is ever full.
const options = { points: 2_000_000_000, duration: WINDOW_SECONDS }

function chooseLimiter(deps: Deps, redis: Redis | undefined): RateLimiterAbstract {
  const { databaseUrl, processes } = deps.config
  const isAlone = databaseUrl === undefined && processes === 1
  const own = isAlone ? new RateLimiterMemory({ ...options, keyPrefix: '' }) : inDatabase(deps)
  if (redis === undefined) return own
  return new RateLimiterRedis({
    ...options,
    storeClient: redis,
    keyPrefix: 'parley',
    rejectIfRedisNotReady: true,
    insuranceLimiter: own,
  })
}

/**
 * The library takes the time from this process, and the clocks of processes differ: every moment that it writes or compares
 * is moved to the database's time, and back when it is read.
 */
function inDatabase({ db, clock }: Deps): RateLimiterPostgres {
  const query = async ({ text, values }: { text: string; values: (string | number | null)[] }) => {
    const ahead = clock.now().getTime() - systemClock.now().getTime()
    const moved = values.map((value) => (typeof value === 'number' && value > MOMENTS ? value + ahead : value))
    const rows = await db.unsafe<{ points: number; expire: number }[]>(text, moved, { prepare: true })
    return { rows: rows.map((row) => ({ ...row, expire: row.expire - ahead })), rowCount: rows.count }
  }
  return new RateLimiterPostgres({
    ...options,
    storeClient: { query },
    storeType: 'client',
    tableName: 'rate_limits',
    tableCreated: true,
    keyPrefix: '',
  })
}

/** Commands fail at once while there is no connection, so that the insurance counts instead. */
async function connectRedis(url: string, onError: (error: Error) => void = () => {}): Promise<Redis> {
  // Its client takes 20 MB: only where there is a Redis.
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: 500 })
  redis.on('error', onError)
  return redis
}
