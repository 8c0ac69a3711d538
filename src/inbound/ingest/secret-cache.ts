import type { Db } from '../../db/connect.ts'
import { createPromiseCache, refreshed } from '../../platform/cache.ts'
import { findSecrets, hasSecret, type SenderSecrets } from '../handling/routing/routing-store.ts'
import type { NumberSecrets, Requirement } from './signature.ts'

/** Starts with the query, so that another process's change is visible within 5 s. */
const TTL_MS = 3_000
const MAX_IDS = 20_000

export type SecretCache = {
  isAny(): boolean | Promise<boolean>
  requiredBy(ids: readonly string[]): Promise<readonly Requirement[]>
  /** Later checks must see every change committed before. */
  drop(): void
}

/** Caches senders' secrets for 3 s. */
export function createSecretCache(deps: { db: Db; decrypt: (sealed: string) => string }): SecretCache {
  const held = createPromiseCache<string, readonly Requirement[]>({ max: MAX_IDS, ttlMs: TTL_MS })
  const readAny = () => refreshed(() => hasSecret(deps.db), TTL_MS)
  let isAny = readAny()

  return {
    isAny: () => isAny(),
    requiredBy: async (ids) => {
      let found: Promise<Map<string, SenderSecrets[]>> | undefined
      const load = async (id: string) => {
        found ??= findSecrets(deps.db, ids).then(byName)
        return requiredFor(id, (await found).get(id) ?? [], deps.decrypt)
      }
      const all = await Promise.all(ids.map((id) => held.get(id, () => load(id))))
      return all.flat()
    },
    drop: () => {
      isAny = readAny()
      held.clear()
    },
  }
}

function byName(rows: readonly SenderSecrets[]): Map<string, SenderSecrets[]> {
  const named = new Map<string, SenderSecrets[]>()
  for (const row of rows) {
    for (const name of new Set([row.phoneNumberId, row.wabaAccountId, row.appId, row.appName])) {
      if (name !== null) named.set(name, [...(named.get(name) ?? []), row])
    }
  }
  return named
}

/** Returns what an id requires; on an account, one sender per company, so that none proves another's events. */
function requiredFor(
  id: string,
  rows: readonly SenderSecrets[],
  decrypt: (sealed: string) => string,
): readonly Requirement[] {
  const isOfAccount = (row: SenderSecrets): boolean => row.wabaAccountId === id && row.phoneNumberId !== id
  const byCompany = Map.groupBy(rows.filter(isOfAccount), ({ companyId }) => companyId)
  return [
    ...rows
      .filter((row) => !isOfAccount(row))
      .map((row): Requirement => ({ of: 'number', choices: openSecrets([row], decrypt) })),
    ...[...byCompany.values()].map(
      (senders): Requirement => ({ of: 'account', choices: openSecrets(senders, decrypt) }),
    ),
  ]
}

export const openSecrets = (
  rows: readonly Pick<SenderSecrets, 'appSecret' | 'webhookSecret'>[],
  decrypt: (sealed: string) => string,
): NumberSecrets[] =>
  rows.map(({ appSecret, webhookSecret }) => ({
    appSecret: appSecret === null ? null : decrypt(appSecret),
    webhookSecret: webhookSecret === null ? null : decrypt(webhookSecret),
  }))
