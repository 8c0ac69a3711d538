import { createPromiseCache } from '../../batching/promise-cache.ts'
import { monotonicMs } from '../../clock.ts'
import type { Db } from '../../db/connect.ts'
import { findSecrets, hasSecret, type SenderSecrets } from '../handling/routing/routing-store.ts'
import type { RequiredSecrets } from './signature.ts'

/** Counted from the start of the query, so that a change made by another process counts within 5 s. */
const TTL_MS = 3_000
const MAX_IDS = 20_000

export type SecretCache = {
  /** Whether any connected sender carries a secret; a promise only while that is looked up. */
  isAny(): boolean | Promise<boolean>
  /** The secrets that a body must prove if it names these numbers, accounts and apps. */
  requiredBy(ids: readonly string[]): Promise<RequiredSecrets>
  /** Forgets everything: a check that starts afterwards sees every change committed before. */
  drop(): void
}

/** Remembers for at most 3 s which senders carry which secrets. */
export function createSecretCache(deps: { db: Db; decrypt: (sealed: string) => string }): SecretCache {
  const held = createPromiseCache<string, RequiredSecrets>({ max: MAX_IDS, ttlMs: TTL_MS })
  let any: AnySecret | undefined

  return {
    isAny: () => {
      if (any === undefined || any.hasFailed || monotonicMs() >= any.untilMs) any = lookUp(deps.db)
      return any.value ?? any.answer
    },
    requiredBy: async (ids) => {
      let found: Promise<Map<string, SenderSecrets[]>> | undefined
      const load = async (id: string) => {
        found ??= findSecrets(deps.db, ids).then(byName)
        return openSecrets((await found).get(id) ?? [], deps.decrypt)
      }
      const all = await Promise.all(ids.map((id) => held.get(id, () => load(id))))
      return {
        appSecrets: distinct(all.flatMap(({ appSecrets }) => appSecrets)),
        webhookSecrets: distinct(all.flatMap(({ webhookSecrets }) => webhookSecrets)),
      }
    },
    drop: () => {
      any = undefined
      held.clear()
    },
  }
}

type AnySecret = { untilMs: number; answer: Promise<boolean>; value?: boolean; hasFailed?: boolean }

function lookUp(db: Db): AnySecret {
  const one: AnySecret = { untilMs: monotonicMs() + TTL_MS, answer: hasSecret(db) }
  one.answer.then(
    (value) => {
      one.value = value
    },
    () => {
      one.hasFailed = true
    },
  )
  return one
}

/** The senders behind each of the names that events give them. */
function byName(rows: readonly SenderSecrets[]): Map<string, SenderSecrets[]> {
  const named = new Map<string, SenderSecrets[]>()
  for (const row of rows) {
    for (const name of [row.phoneNumberId, row.wabaAccountId, row.appId, row.appName]) {
      if (name !== null) named.set(name, [...(named.get(name) ?? []), row])
    }
  }
  return named
}

/** Decrypts the secrets of these senders; a body must prove all of them. */
export const openSecrets = (
  rows: readonly Pick<SenderSecrets, 'appSecret' | 'webhookSecret'>[],
  decrypt: (sealed: string) => string,
): RequiredSecrets => ({
  appSecrets: rows.flatMap(({ appSecret }) => (appSecret === null ? [] : [decrypt(appSecret)])),
  webhookSecrets: rows.flatMap(({ webhookSecret }) => (webhookSecret === null ? [] : [decrypt(webhookSecret)])),
})

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)]
