import { monotonicMs } from '../platform/clock.ts'
import { createTimer } from '../platform/timer.ts'

/** One company's maximum share of a line and, while several companies wait, of the work. */
export const COMPANY_SHARE = 1 / 3

export type LineLimits = {
  maxWaiting?: number | undefined
  maxWaitingBytes?: number | undefined
}

type LineOptions<Item> = LineLimits & {
  companyShare?: number
  bytesOf?: (item: Item) => number
  /** Late items leave the line within a quarter of `maxWaitMs`. */
  expiry?: { maxWaitMs: number; isLate: (item: Item, nowMs: number) => boolean; refuse: (item: Item) => void }
}

export type FairLine<Company, Item> = {
  readonly size: number
  /** Number of companies with waiting items. */
  readonly companies: number
  sizeOf(company: Company): number
  /** Returns false, without keeping the item, if too much is waiting. A company's first item needs no share. */
  add(company: Company, item: Item): boolean
  head(): Item | undefined
  /** Takes the first item of the first company whose first item may be taken, and moves that company behind. */
  next(mayTake?: (item: Item, company: Company) => boolean): Item | undefined
  remove(company: Company, item: Item): void
}

type Queue<Item> = { readonly items: Item[]; bytes: number }

/** Creates a bounded line: first in, first out within a company, companies round robin. */
export function createFairLine<Company, Item>(options: LineOptions<Item> = {}): FairLine<Company, Item> {
  const { maxWaiting = Number.POSITIVE_INFINITY, maxWaitingBytes = Number.POSITIVE_INFINITY } = options
  const { companyShare = COMPANY_SHARE, bytesOf = () => 0, expiry } = options
  const queues = new Map<Company, Queue<Item>>()
  let size = 0
  let bytes = 0

  const hasRoom = (queue: Queue<Item> | undefined, more: number): boolean => {
    if (size >= maxWaiting || bytes + more > maxWaitingBytes) return false
    if (queue === undefined) return true
    return queue.items.length < maxWaiting * companyShare && queue.bytes + more <= maxWaitingBytes * companyShare
  }
  const count = (queue: Queue<Item>, item: Item, by: 1 | -1): void => {
    const change = by * bytesOf(item)
    size += by
    bytes += change
    queue.bytes += change
  }
  const remove = (company: Company, item: Item): void => {
    const queue = queues.get(company)
    const at = queue?.items.indexOf(item) ?? -1
    if (queue === undefined || at === -1) return
    if (at === 0) queue.items.shift()
    else queue.items.splice(at, 1)
    count(queue, item, -1)
    if (queue.items.length === 0) queues.delete(company)
  }
  const moveBehind = (company: Company): void => {
    const queue = queues.get(company)
    if (queue === undefined || queues.size === 1) return
    queues.delete(company)
    queues.set(company, queue)
  }
  const expireLater = createExpiry(queues, expiry, remove)

  return {
    get size() {
      return size
    },
    get companies() {
      return queues.size
    },
    sizeOf: (company) => queues.get(company)?.items.length ?? 0,
    add: (company, item) => {
      const known = queues.get(company)
      if (!hasRoom(known, bytesOf(item))) return false
      const queue = known ?? { items: [], bytes: 0 }
      if (known === undefined) queues.set(company, queue)
      queue.items.push(item)
      count(queue, item, 1)
      expireLater?.()
      return true
    },
    head: () => {
      for (const { items } of queues.values()) return items[0]
      return undefined
    },
    next: (mayTake) => {
      for (const [company, { items }] of queues) {
        const [item] = items
        if (item === undefined || mayTake?.(item, company) === false) continue
        remove(company, item)
        moveBehind(company)
        return item
      }
      return undefined
    },
    remove,
  }
}

function createExpiry<Company, Item>(
  queues: ReadonlyMap<Company, Queue<Item>>,
  expiry: LineOptions<Item>['expiry'],
  remove: (company: Company, item: Item) => void,
): (() => void) | undefined {
  if (expiry === undefined || !Number.isFinite(expiry.maxWaitMs)) return undefined
  const { maxWaitMs, isLate, refuse } = expiry
  const start = createTimer(() => {
    const nowMs = monotonicMs()
    for (const [company, { items }] of queues) {
      for (const item of items.filter((one) => isLate(one, nowMs))) {
        remove(company, item)
        refuse(item)
      }
    }
    if (queues.size > 0) startLater()
  })
  const startLater = () => start(maxWaitMs / 4)
  return startLater
}
