import type { Db } from '../../db/connect.ts'
import { createPromiseCache } from '../../platform/cache/promise-cache.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { findSecrets, hasSecret, type SenderSecrets } from '../handling/routing/routing-store.ts'
import type { NumberSecrets, Requirement } from './signature.ts'

/** Counted from the start of the query, so that a change made by another process counts within 5 s. */
const TTL_MS = 3_000
const MAX_IDS = 20_000

export type SecretCache = {
  /** Whether any connected sender carries a secret; a promise only while that is looked up. */
  isAny(): boolean | Promise<boolean>
  /** The secrets that a body must prove if it names these numbers, accounts and apps. */
  requiredBy(ids: readonly string[]): Promise<readonly Requirement[]>
  /** Forgets everything: a check that starts afterwards sees every change committed before. */
  drop(): void
}

/** Remembers for at most 3 s which senders carry which secrets. */
export function createSecretCache(deps: { db: Db; decrypt: (sealed: string) => string }): SecretCache {
  const held = createPromiseCache<string, readonly Requirement[]>({ max: MAX_IDS, ttlMs: TTL_MS })
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
        return requiredFor(id, (await found).get(id) ?? [], deps.decrypt)
      }
      const all = await Promise.all(ids.map((id) => held.get(id, () => load(id))))
      return all.flat()
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
    for (const name of new Set([row.phoneNumberId, row.wabaAccountId, row.appId, row.appName])) {
      if (name !== null) named.set(name, [...(named.get(name) ?? []), row])
    }
  }
  return named
}

/**
 * What a body must prove when it names this id: each sender of the number or the app, and of an account, for each company that
 * has secrets on it, one of its senders. So nobody proves an event for another company.
 */
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

/** Decrypts the secrets of these senders. */
export const openSecrets = (
  rows: readonly Pick<SenderSecrets, 'appSecret' | 'webhookSecret'>[],
  decrypt: (sealed: string) => string,
): NumberSecrets[] =>
  rows.map(({ appSecret, webhookSecret }) => ({
    appSecret: appSecret === null ? null : decrypt(appSecret),
    webhookSecret: webhookSecret === null ? null : decrypt(webhookSecret),
  }))
