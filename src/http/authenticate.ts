import { hash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import { findApiKey, type LiveApiKey, listLiveOrigins } from '../companies/api-key-store.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/connect.ts'
import type { Caller } from './caller.ts'

/** How long a key is believed after it was read: a revoked one stops working on every node within this time. */
export const KEY_TTL_MS = 3_000
const MAX_CACHED_KEYS = 10_000
// The scheme in any case, what follows as it is.
const BEARER = '[Bb][Ee][Aa][Rr][Ee][Rr]'

export type ApiKeys = {
  /** The caller named by the `Authorization` header; undefined if the header is missing or wrong. Throws only database errors. */
  findCaller(authorization: string | undefined): Promise<Caller | undefined>
  /** Whether any live key lists this origin. */
  isLiveOrigin(origin: string): Promise<boolean>
  /** Forgets a key that was changed or revoked in this process, and the origins with it. */
  drop(clientId: string): void
}

/** A client id and what is known of it; no key is knowledge as well. */
type Known = { key: LiveApiKey | undefined; caller: Caller | undefined }

/** Reads API keys (spec: Authentication), each at most once in three seconds however many requests carry it. */
export function createApiKeys(deps: { config: Pick<Config, 'apiKeyPrefix'>; db: Db; clock: Clock }): ApiKeys {
  const token = new RegExp(`^${BEARER} +${deps.config.apiKeyPrefix}-([a-z0-9]{16})-([A-Za-z0-9]{43})$`)
  const keys = createCache(MAX_CACHED_KEYS, async (clientId): Promise<Known> => {
    const key = await findApiKey(deps.db, clientId)
    return { key, caller: key && toCaller(key) }
  })
  const origins = createCache(1, async () => new Set(await listLiveOrigins(deps.db)))

  return {
    async findCaller(authorization) {
      const [, clientId = '', secret = ''] = token.exec(authorization ?? '') ?? []
      const known = clientId === '' ? undefined : await keys.read(clientId)
      // Compared in any case, so that an unknown client takes the time of a wrong key.
      const isRight = isSecretOf(secret, known?.key?.digest ?? NOBODY)
      const expiresAt = known?.key?.expiresAt ?? null
      if (!isRight || (expiresAt !== null && expiresAt <= deps.clock.now())) return undefined
      return known?.caller
    },
    async isLiveOrigin(origin) {
      return (await origins.read('all')).has(origin)
    },
    drop(clientId) {
      keys.drop(clientId)
      origins.drop('all')
    },
  }
}

const NOBODY = Buffer.alloc(32)

const isSecretOf = (secret: string, digest: Buffer): boolean => {
  const given = hash('sha256', secret, 'buffer')
  return given.length === digest.length && timingSafeEqual(given, digest)
}

const toCaller = (key: LiveApiKey): Caller =>
  Object.freeze({
    companyId: key.companyId,
    clientId: key.clientId,
    keyName: key.name,
    permissions: key.permissions,
    allowedOrigins: key.allowedOrigins,
    rateLimitPerMinute: key.rateLimitPerMinute,
  })

/** Whether the header carries this bearer token; never, when there is none. In constant time, also for another length. */
export function createTokenCheck(token: string | undefined): (authorization: string | undefined) => boolean {
  const expected = token === undefined ? undefined : hash('sha256', token, 'buffer')
  return (authorization) => {
    const given = hash('sha256', /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1] ?? '', 'buffer')
    return timingSafeEqual(given, expected ?? given) && expected !== undefined
  }
}

/** A cache with one read in flight per key. An entry that is dropped during its read is returned but not cached. */
function createCache<Value extends object>(max: number, read: (key: string) => Promise<Value>) {
  const cache = new LRUCache<string, Value>({
    max,
    ttl: KEY_TTL_MS,
    fetchMethod: (key) => read(key),
    ignoreFetchAbort: true,
  })
  return {
    async read(key: string): Promise<Value> {
      return cache.get(key) ?? (await cache.forceFetch(key))
    },
    drop: (key: string): void => {
      cache.delete(key)
    },
  }
}
