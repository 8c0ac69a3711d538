import type { Db } from '../db/connect.ts'
import { createPromiseCache } from '../platform/cache.ts'
import { effectiveDailyLimit, type Sender, type SenderCipher } from './sender.ts'
import { type SenderRow, selectSenders } from './sender-store.ts'

export type SenderCache = {
  /** Oldest first, with plain-text secrets; at most `ttlMs` old. */
  listFor(companyId: number): Promise<readonly Sender[]>
  drop(companyId: number): void
}

const COMPANIES_HELD = 10_000

export function createSenderCache({ db, cipher, ttlMs }: { db: Db; cipher: SenderCipher; ttlMs: number }): SenderCache {
  const held = createPromiseCache<number, readonly Sender[]>({ max: COMPANIES_HELD, ttlMs })
  const load = async (companyId: number) => (await selectSenders(db, companyId)).map((row) => unseal(row, cipher))
  return {
    listFor: (companyId) => held.get(companyId, () => load(companyId)),
    drop: held.drop,
  }
}

function unseal({ tier, dailyLimit, createdAt: _createdAt, ...row }: SenderRow, cipher: SenderCipher): Sender {
  return {
    ...row,
    accessToken: cipher.decrypt(row.accessToken),
    appSecret: row.appSecret === null ? null : cipher.decrypt(row.appSecret),
    webhookSecret: row.webhookSecret === null ? null : cipher.decrypt(row.webhookSecret),
    dailyLimit: effectiveDailyLimit({ tier, dailyLimit }),
  }
}
