import { LRUCache } from 'lru-cache'
import type { Db } from '../db/connect.ts'
import { type Cipher, effectiveDailyLimit, type Sender } from './sender.ts'
import { type SenderRow, selectSenders } from './sender-store.ts'

export type SenderCache = {
  /** The company's connected numbers, oldest first, with secrets in clear; at most `ttlMs` old. */
  listFor(companyId: number): Promise<readonly Sender[]>
  /** Forgets a company's senders: who asks from now on sees every change committed before. */
  drop(companyId: number): void
}

const COMPANIES_HELD = 10_000

/**
 * Remembers the senders of the companies that send. What is held are promises, so that many who ask at once share
 * one query, and so that `drop` during a query neither fails its callers nor lets its answer be kept.
 */
export function createSenderCache({ db, cipher, ttlMs }: { db: Db; cipher: Cipher; ttlMs: number }): SenderCache {
  const held = new LRUCache<number, Promise<readonly Sender[]>>({ max: COMPANIES_HELD, ttl: ttlMs })

  const load = (companyId: number): Promise<readonly Sender[]> => {
    const loading = selectSenders(db, companyId).then((rows) => rows.map((row) => unseal(row, cipher)))
    held.set(companyId, loading)
    loading.catch(() => {
      if (held.peek(companyId) === loading) held.delete(companyId)
    })
    return loading
  }

  return {
    listFor: (companyId) => held.get(companyId) ?? load(companyId),
    drop: (companyId) => {
      held.delete(companyId)
    },
  }
}

function unseal({ tier, dailyLimit, createdAt: _createdAt, ...row }: SenderRow, cipher: Cipher): Sender {
  return {
    ...row,
    accessToken: cipher.decrypt(row.accessToken),
    appSecret: row.appSecret === null ? null : cipher.decrypt(row.appSecret),
    webhookSecret: row.webhookSecret === null ? null : cipher.decrypt(row.webhookSecret),
    dailyLimit: effectiveDailyLimit({ tier, dailyLimit }),
  }
}
