/** The contract about the daily limit of a portfolio and the 24-hour windows of its numbers as a model. Moments are epoch milliseconds. */
const DAY_MS = 24 * 3600 * 1000

export type Outcome = 'accepted' | 'refused' | 'unknown'
export type Expected = 'sent' | 'refused' | 'unknown' | 'window' | 'limit'

/** A customer and the number that writes. */
export type Chat = { customer: string; at: number }
export const keyOf = ({ customer, at }: Chat): string => `${customer} ${at}`

export class Limits {
  readonly dailyLimit: number
  private readonly inbound = new Map<string, number>()
  private readonly counted: { customer: string; at: number }[] = []

  constructor(dailyLimit: number) {
    this.dailyLimit = dailyLimit
  }

  /** Opens the window, by the provider's time, which is never later than the arrival. */
  receive(chat: Chat, sentAt: number): void {
    this.inbound.set(keyOf(chat), Math.max(sentAt, this.inbound.get(keyOf(chat)) ?? 0))
  }

  isOpen(chat: Chat, now: number): boolean {
    return now - (this.inbound.get(keyOf(chat)) ?? -Infinity) < DAY_MS
  }

  /** The places that are taken: customers whom a message reached, or may have reached, outside the window. */
  taken(now: number): string[] {
    return this.counted.filter(({ at }) => at > now - DAY_MS).map(({ customer }) => customer)
  }

  send(chat: Chat, needsWindow: boolean, outcome: Outcome, now: number): Expected {
    const { customer } = chat
    const isOpen = this.isOpen(chat, now)
    if (needsWindow && !isOpen) return 'window'
    const taken = this.taken(now)
    const takesPlace = !isOpen && !taken.includes(customer)
    if (takesPlace && taken.length >= this.dailyLimit) return 'limit'
    if (takesPlace && outcome !== 'refused') this.counted.push({ customer, at: now })
    return outcome === 'accepted' ? 'sent' : outcome
  }
}
