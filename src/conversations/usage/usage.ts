/** Whether the provider charges for a message: its values, in lower case. */
export type MessagePricing = { category: string | null; type: string | null; billable: boolean | null }

/** The counters of messages, each a bit of `messages.counted`. */
const COUNTERS = { sent: 1, delivered: 2, read: 4, failed: 8, billable: 16 } as const
type Counter = keyof typeof COUNTERS
export type Usage = Record<Counter, number>

/** The bit of a message that the provider charges for. */
export const BILLABLE = COUNTERS.billable

/** Returns whether the provider charges for a message: by the type of its pricing, without one by the provider's own flag. */
export const isBillable = ({ type, billable }: Pick<MessagePricing, 'type' | 'billable'>): boolean | null =>
  type === null ? billable : type === 'regular'

/** The counters of each status: a delivered message was sent, and a read one was delivered. */
const REACHED = {
  sent: COUNTERS.sent,
  delivered: COUNTERS.sent | COUNTERS.delivered,
  read: COUNTERS.sent | COUNTERS.delivered | COUNTERS.read,
  failed: COUNTERS.failed,
} as const

/** The counters that a status increases, as bits. */
export const countersOf = (status: keyof typeof REACHED | null): number => (status === null ? 0 : REACHED[status])

/** The place of a count. `day`: ISO date in UTC; `template`: its name, empty for none. */
export type UsageKey = { companyId: number; day: string; senderId: number; category: string; template: string }

/** A message before and after a batch of statuses. */
export type CountedChange = {
  companyId: number
  senderId: number
  day: string
  template: string | null
  /** Of the template; null: none. */
  category: string | null
  /** The category of its pricing. */
  pricedBefore: string | null
  pricedAfter: string | null
  /** Its counters, as bits. */
  countedBefore: number
  countedAfter: number
}

/** Category of messages without a template. */
const SERVICE = 'service'

/**
 * The counts that a batch of statuses adds to the usage. A message counts in the category of its pricing, else of its template: one whose
 * pricing comes later moves there with all its counters.
 */
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
