import { hash, timingSafeEqual } from 'node:crypto'
import type { Db } from '../db/connect.ts'
import type { RequireUnlocked } from '../db/pool/fair-pool.ts'
import type { ApiKeys } from '../http/admission/authenticate.ts'
import type { BrowserKey, Caller } from '../http/admission/caller.ts'
import { createCache, refreshed } from '../platform/cache.ts'
import type { Clock } from '../platform/clock.ts'
import { companyMoving } from '../platform/errors.ts'
import type { Config } from '../platform/settings/config.ts'
import { findApiKey, type LiveApiKey, listLiveOrigins } from './api-key-store.ts'
import { browserLimits, isBrowserKey, storedBytesLimits } from './browser-key.ts'

/** Within this time, every process refuses a revoked key and starts no statement for a locked company. */
const TTL_MS = 3_000
const MAX_CACHED_KEYS = 10_000
const BEARER = '[Bb][Ee][Aa][Rr][Ee][Rr]'

type CachedKey = { key: LiveApiKey | undefined; caller: Caller | undefined }

/** Creates the API key lookup (spec: Authentication). */
export function createApiKeys(deps: { config: Pick<Config, 'apiKeyPrefix'>; db: Db; clock: Clock }): ApiKeys {
  const token = new RegExp(`^${BEARER} +${deps.config.apiKeyPrefix}-([a-z0-9]{16})-([A-Za-z0-9]{43})$`)
  const keys = createCache<string, Promise<CachedKey>>({ name: 'api_keys', max: MAX_CACHED_KEYS, ttlMs: TTL_MS })
  const readOrigins = refreshed(async () => new Set(await listLiveOrigins(deps.db)), TTL_MS)
  const readKey = async (clientId: string): Promise<CachedKey> => {
    const key = await findApiKey(deps.db, clientId)
    return { key, caller: key && toCaller(key) }
  }

  return {
    async findCaller(authorization) {
      const [, clientId = '', secret = ''] = token.exec(authorization ?? '') ?? []
      const existing = clientId === '' ? undefined : await keys.get(clientId, () => readKey(clientId))
      // Always compare, so that an unknown client id takes as long as a wrong secret.
      const isRight = isSecretOf(secret, existing?.key?.digest ?? NO_DIGEST)
      const expiresAt = existing?.key?.expiresAt ?? null
      if (!isRight || (expiresAt !== null && expiresAt <= deps.clock.now())) return undefined
      return existing?.caller
    },
    async isLiveOrigin(origin) {
      return (await readOrigins()).has(origin)
    },
    drop(clientId) {
      keys.drop(clientId)
      readOrigins.drop()
    },
  }
}

const NO_DIGEST = Buffer.alloc(32)

const isSecretOf = (secret: string, digest: Buffer): boolean => {
  const computed = hash('sha256', secret, 'buffer')
  return computed.length === digest.length && timingSafeEqual(computed, digest)
}

const toCaller = (key: LiveApiKey): Caller =>
  Object.freeze({
    companyId: key.companyId,
    clientId: key.clientId,
    keyName: key.name,
    permissions: key.permissions,
    allowedOrigins: key.allowedOrigins,
    rateLimitPerMinute: key.rateLimitPerMinute,
    defaultCountry: key.defaultCountry,
    ...(key.isLocked && { isLocked: true }),
    ...(isBrowserKey(key.permissions) && { browser: toBrowserKey(key) }),
  })

const toBrowserKey = (key: LiveApiKey): BrowserKey => ({
  limits: browserLimits(key.rateLimitPerMinute, { ofKey: key.keyLimitPerMinute, ofAddress: key.addressLimitPerMinute }),
  storedBytes: storedBytesLimits(key.storedBytesPerHour),
  writableFields: key.writableFields,
  identitySecret: key.identitySecret,
})

/** Creates the lock check; reads the locked companies on demand, at most once in three seconds. */
export function createRequireUnlocked(db: Db): RequireUnlocked {
  const readLocked = refreshed(async (): Promise<ReadonlySet<number>> => new Set(await findLockedCompanies(db)), TTL_MS)
  const check = (locked: ReadonlySet<number>, companyId: number): undefined => {
    if (locked.has(companyId)) throw companyMoving()
  }
  return (companyId) => {
    const locked = readLocked()
    return locked instanceof Promise ? locked.then((ids) => check(ids, companyId)) : check(locked, companyId)
  }
}

async function findLockedCompanies(db: Db): Promise<number[]> {
  const rows = await db<{ id: number }[]>`select id from companies where closed_at is not null order by id limit 10000`
  return rows.map(({ id }) => id)
}
