import { noWhatsappAccount, senderNotFound } from '../platform/errors.ts'
import { digitsOf } from '../platform/text/phone.ts'
import type { ProviderName } from '../providers/provider-name.ts'

/** Keeps secrets unreadable at rest. */
export type SenderCipher = { encrypt(text: string): string; decrypt(sealed: string): string }

/**
 * Where marketing templates go: `auto` to the provider's address for marketing once the account has signed its terms, and
 * with all other messages before.
 */
export const MARKETING_ADDRESSES = ['auto', 'marketing', 'messages'] as const
export type MarketingAddress = (typeof MARKETING_ADDRESSES)[number]

/** A connected number, ready to send: its secrets are in clear, so it never leaves the process. */
export type Sender = {
  readonly id: number
  readonly provider: ProviderName
  /** As displayed. */
  readonly phoneNumber: string
  /** Its digits. */
  readonly phone: string
  readonly phoneName: string
  /** The provider's id of the number. */
  readonly phoneNumberId: string
  readonly wabaAccountId: string
  /** The business portfolio of the account at the provider; null: not known. */
  readonly portfolioId: string | null
  readonly accessToken: string
  readonly appSecret: string | null
  /** The secret that events about the number must carry if the provider does not sign. */
  readonly webhookSecret: string | null
  /** Null: the provider's public address. */
  readonly apiBaseUrl: string | null
  /** The provider's app that holds the number, and its name; null where the provider has no apps. */
  readonly appId: string | null
  readonly appName: string | null
  readonly isPreferred: boolean
  /** Customers whom it may be the first to write to within 24 hours; null: unlimited. */
  readonly dailyLimit: number | null
  /** Messages per second, as set by the operator; null: the provider's usual limit. */
  readonly throughputPerSecond: number | null
  /** Also used in the phone app. */
  readonly isSharedWithApp: boolean
  readonly marketingAddress: MarketingAddress
  /** Whether the account has signed the provider's terms for marketing messages, as the provider reports it. */
  readonly marketingTermsSigned: boolean
  /** The provider has allowed the account to write outside the window without a template. */
  readonly directSend: boolean
}

/** A connected number as its operator sees it: without secrets. */
export type SenderRecord = Omit<Sender, 'accessToken' | 'appSecret' | 'webhookSecret' | 'dailyLimit'> & {
  readonly tier: number | null
  /** As set by the operator; null: the tier decides. */
  readonly dailyLimit: number | null
  readonly hasWebhookSecret: boolean
  readonly createdAt: Date
}

/** How a request names a sender: by its digits in any formatting or by the provider's id, or by our own id. */
export type SenderName = string | { readonly id: number }

/**
 * Which number sends (spec: Sender resolution): the one that is named, else the preferred one. A name that fits none is
 * 404 `WHATSAPP_SENDER_NOT_FOUND`, no number at all 404 `no_whatsapp_account`. A telephone number wins over an equal
 * provider's id.
 */
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

/** One line may be connected twice, through two providers: then the preferred connection, else the older. */
function findByPhone(senders: readonly Sender[], name: string): Sender | undefined {
  const phone = parseSenderPhone(name)
  const named = senders.filter((sender) => sender.phone === phone)
  return named.find((sender) => sender.isPreferred) ?? named[0]
}

/** The digits of a telephone number in any formatting, `00` counting as `+`; undefined when it is none. */
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

/** The explicit limit, else that of the provider's tier; null: no limit. */
export const effectiveDailyLimit = (set: { tier: number | null; dailyLimit: number | null }): number | null =>
  set.dailyLimit ?? TIER_LIMITS.get(set.tier ?? 0) ?? null

/** Whose daily limit counts for a number: that of the provider's portfolio where it is known, else its own. */
export const limitScopeOf = ({ id, portfolioId }: Pick<Sender, 'id' | 'portfolioId'>): string =>
  portfolioId === null ? `sender:${id}` : `portfolio:${portfolioId}`

/** Whether marketing templates of a number go to the provider's own address for them. */
export const usesMarketingAddress = ({
  marketingAddress,
  marketingTermsSigned,
}: Pick<Sender, 'marketingAddress' | 'marketingTermsSigned'>): boolean =>
  marketingAddress === 'marketing' || (marketingAddress === 'auto' && marketingTermsSigned)

const USUAL_THROUGHPUT = 80
const THROUGHPUT_WITH_APP = 20
/** No provider allows more: a higher setting turns throttling off for the sender. */
const HIGHEST_THROUGHPUT = 1_000

/** Seconds between two messages of the sender; null: no throttle, neither of the sender nor per customer. */
export function slotSecondsOf(sender: Pick<Sender, 'throughputPerSecond' | 'isSharedWithApp'>): number | null {
  const usual = sender.isSharedWithApp ? THROUGHPUT_WITH_APP : USUAL_THROUGHPUT
  const throughput = sender.throughputPerSecond ?? usual
  return throughput > HIGHEST_THROUGHPUT ? null : 1 / throughput
}
