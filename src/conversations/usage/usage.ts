/** The provider's values, in lower case. */
export type MessagePricing = { category: string | null; type: string | null; billable: boolean | null }

/** Bits of `messages.counted`. */
const COUNTERS = { sent: 1, delivered: 2, read: 4, failed: 8, billable: 16 } as const
type Counter = keyof typeof COUNTERS
export type Usage = Record<Counter, number>

export const BILLABLE = COUNTERS.billable

/** Decides by pricing type, else by the provider's flag. */
export const isBillable = ({ type, billable }: Pick<MessagePricing, 'type' | 'billable'>): boolean | null =>
  type === null ? billable : type === 'regular'

const REACHED = {
  sent: COUNTERS.sent,
  delivered: COUNTERS.sent | COUNTERS.delivered,
  read: COUNTERS.sent | COUNTERS.delivered | COUNTERS.read,
  failed: COUNTERS.failed,
} as const

export const countersOf = (status: keyof typeof REACHED | null): number => (status === null ? 0 : REACHED[status])

/** `day`: UTC ISO date; `template`: empty for none. */
export type UsageKey = { companyId: number; day: string; senderId: number; category: string; template: string }

export type CountedChange = {
  companyId: number
  senderId: number
  day: string
  template: string | null
  category: string | null
  pricedBefore: string | null
  pricedAfter: string | null
  countedBefore: number
  countedAfter: number
}

const SERVICE = 'service'

/** Sums usage by pricing category, else template's. Later pricing moves a message with all counters. */
export function countChanges(changes: readonly CountedChange[]): (UsageKey & Usage)[] {
  const totals = new Map<string, UsageKey & Usage>()
  for (const change of changes) {
    const { companyId, senderId, day, countedBefore, countedAfter } = change
    const place = { companyId, day, senderId, template: change.template ?? '' }
    const before = change.pricedBefore ?? change.category ?? SERVICE
    const after = change.pricedAfter ?? change.category ?? SERVICE
    add(totals, { ...place, category: before }, countedBefore, -1)
    add(totals, { ...place, category: after }, countedAfter, 1)
  }
  return [...totals.values()].filter((total) => NAMES.some((name) => total[name] !== 0))
}

const NAMES = Object.keys(COUNTERS) as Counter[]

function add(totals: Map<string, UsageKey & Usage>, at: UsageKey, counters: number, step: 1 | -1): void {
  const key = JSON.stringify([at.companyId, at.day, at.senderId, at.category, at.template])
  const total = totals.get(key) ?? { ...at, sent: 0, delivered: 0, read: 0, failed: 0, billable: 0 }
  totals.set(key, total)
  for (const name of NAMES) if (counters & COUNTERS[name]) total[name] += step
}
