import type { Db } from '../db/connect.ts'
import { createCache } from '../platform/cache.ts'
import { noWhatsappAccount, senderNotFound } from '../platform/errors.ts'
import { digitsOf } from '../platform/text/phone.ts'
import { type SenderRow, selectSenders } from './sender-store.ts'

export type SenderCipher = { encrypt(text: string): string; decrypt(sealed: string): string }

/** Has plain-text secrets: must never leave the process. */
export type Sender = Omit<SenderRow, 'tier' | 'dailyLimit' | 'createdAt'> & {
  /** First contacts per rolling 24 hours; null: unlimited. */
  readonly dailyLimit: number | null
}

export type SenderRecord = Omit<SenderRow, 'accessToken' | 'appSecret' | 'webhookSecret'> & {
  readonly hasWebhookSecret: boolean
}

export type SenderCache = {
  /** Oldest first, with plain-text secrets; at most `ttlMs` old. */
  listFor(companyId: number): Promise<readonly Sender[]>
  drop(companyId: number): void
}

const COMPANIES_HELD = 10_000

export function createSenderCache({ db, cipher, ttlMs }: { db: Db; cipher: SenderCipher; ttlMs: number }): SenderCache {
  const held = createCache<number, Promise<readonly Sender[]>>({ name: 'senders', max: COMPANIES_HELD, ttlMs })
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

export type SenderName = string | { readonly id: number }

/** Resolves the sender (spec: Sender resolution): the given one, else the preferred one. A phone number wins over an equal id. */
export function resolveSender(senders: readonly Sender[], name: SenderName | undefined): Sender {
  if (name === undefined) {
    const preferred = senders.find((sender) => sender.isPreferred)
    if (preferred === undefined) throw noWhatsappAccount()
    return preferred
  }
  const named = typeof name === 'string' ? findByName(senders, name) : senders.find(({ id }) => id === name.id)
  if (named === undefined) throw senderNotFound()
  return named
}

const findByName = (senders: readonly Sender[], name: string): Sender | undefined =>
  findByPhone(senders, name) ?? senders.find((sender) => sender.phoneNumberId === name.trim())

/** A line can be connected twice, through two providers; prefers the preferred one, then the older. */
function findByPhone(senders: readonly Sender[], name: string): Sender | undefined {
  const phone = parseSenderPhone(name)
  const named = senders.filter((sender) => sender.phone === phone)
  return named.find((sender) => sender.isPreferred) ?? named[0]
}

/** Returns the digits of a phone number in any format (`00` means `+`); undefined if invalid. */
export function parseSenderPhone(text: string): string | undefined {
  if (/[^0-9\s\p{P}\p{S}\p{Cf}]/u.test(text)) return undefined
  const digits = digitsOf(text).replace(/^00/, '')
  return /^[0-9]{7,15}$/.test(digits) ? digits : undefined
}

const TIER_LIMITS = new Map([
  [1, 1_000],
  [2, 10_000],
  [3, 100_000],
])

export const effectiveDailyLimit = (set: { tier: number | null; dailyLimit: number | null }): number | null =>
  set.dailyLimit ?? TIER_LIMITS.get(set.tier ?? 0) ?? null

/** Returns whose daily limit counts: the portfolio's, else the number's own. */
export const limitScopeOf = ({ id, portfolioId }: Pick<Sender, 'id' | 'portfolioId'>): string =>
  portfolioId === null ? `sender:${id}` : `portfolio:${portfolioId}`

/** Returns whether marketing templates use the provider's marketing address. */
export const usesMarketingAddress = ({
  marketingAddress,
  marketingTermsSigned,
}: Pick<Sender, 'marketingAddress' | 'marketingTermsSigned'>): boolean =>
  marketingAddress === 'marketing' || (marketingAddress === 'auto' && marketingTermsSigned)

const USUAL_THROUGHPUT = 80
const THROUGHPUT_WITH_APP = 20
/** Above the highest throughput of any provider: disables throttling. */
const HIGHEST_THROUGHPUT = 1_000

/** Returns the seconds between two messages of a sender; null disables throttling, per customer too. */
export function slotSecondsOf(sender: Pick<Sender, 'throughputPerSecond' | 'isSharedWithApp'>): number | null {
  const usual = sender.isSharedWithApp ? THROUGHPUT_WITH_APP : USUAL_THROUGHPUT
  const throughput = sender.throughputPerSecond ?? usual
  return throughput > HIGHEST_THROUGHPUT ? null : 1 / throughput
}
