import { createFairQueue } from './fair-queue.ts'

export type QueueLimits<Item> = {
  maxItems: number
  /** A larger item is sent alone. */
  maxBytes?: number
  maxWaiting?: number
  maxWaitingBytes?: number
  bytesOf?: (item: Item) => number
  /** Absent: items have no company, and only the overall bounds apply. */
  companyOf?: (item: Item) => number | string
}

type BatchQueue<Waiting> = {
  size(): number
  /** Returns false, without keeping the item, when too much is waiting. */
  add(waiting: Waiting): boolean
  /** Takes one item per company in rotation, each company's in order of arrival. */
  take(): Waiting[]
  removeOldest(isKept: (waiting: Waiting) => boolean): void
}

type Company = number | string
type Share = { readonly company: Company; taken: number }
type Batch<Waiting> = {
  readonly items: Waiting[]
  room: number
  readonly maxItems: number
  readonly mostOfCompany: number
}

/** One company's maximum share of the waiting items and, while several wait, of a batch. */
const COMPANY_SHARE = 1 / 3

export function createBatchQueue<Item, Waiting extends { item: Item }>(limits: QueueLimits<Item>): BatchQueue<Waiting> {
  const { maxItems, maxBytes = Number.POSITIVE_INFINITY } = limits
  const { maxWaiting = Number.POSITIVE_INFINITY, maxWaitingBytes = Number.POSITIVE_INFINITY } = limits
  const { bytesOf = () => 0, companyOf } = limits
  const companyShare = companyOf === undefined ? 1 : COMPANY_SHARE
  const queue = createFairQueue<Company, Waiting>()
  const bytesOfCompany = new Map<Company, number>()
  let bytes = 0

  const hasRoom = (company: Company, size: number): boolean => {
    if (queue.size >= maxWaiting || bytes + size > maxWaitingBytes) return false
    const waiting = queue.sizeOf(company)
    if (waiting === 0) return true
    const held = bytesOfCompany.get(company) ?? 0
    return waiting < maxWaiting * companyShare && held + size <= maxWaitingBytes * companyShare
  }

  const count = (company: Company, size: number): void => {
    bytes += size
    if (queue.sizeOf(company) === 0) bytesOfCompany.delete(company)
    else bytesOfCompany.set(company, (bytesOfCompany.get(company) ?? 0) + size)
  }

  const shift = (company: Company): Waiting | undefined => {
    const waiting = queue.shift(company)
    if (waiting !== undefined) count(company, -bytesOf(waiting.item))
    return waiting
  }

  return {
    size: () => queue.size,

    add: (waiting) => {
      const size = bytesOf(waiting.item)
      const company = companyOf?.(waiting.item) ?? 0
      if (!hasRoom(company, size)) return false
      queue.add(company, waiting)
      count(company, size)
      return true
    },

    take: () => {
      const shares = queue.companies().map((company) => ({ company, taken: 0 }))
      const mostOfCompany = shares.length > 1 ? Math.ceil(maxItems * COMPANY_SHARE) : maxItems
      const batch: Batch<Waiting> = { items: [], room: maxBytes, maxItems, mostOfCompany }
      fillBatch(batch, shares, { first: queue.first, shift, bytesOf })
      for (const { company, taken } of shares) if (taken > 0) queue.moveBehind(company)
      return batch.items
    },

    removeOldest: (isKept) => {
      for (const company of queue.companies()) {
        for (let first = queue.first(company); first !== undefined && !isKept(first); first = queue.first(company)) {
          shift(company)
        }
      }
    },
  }
}

function fillBatch<Item, Waiting extends { item: Item }>(
  batch: Batch<Waiting>,
  shares: Share[],
  queue: {
    first(company: Company): Waiting | undefined
    shift(company: Company): Waiting | undefined
    bytesOf(item: Item): number
  },
): void {
  let open = shares
  while (open.length > 0) {
    open = open.filter((share) => {
      const first = queue.first(share.company)
      const size = first === undefined ? 0 : queue.bytesOf(first.item)
      const waiting = hasPlace(batch, share, size) ? queue.shift(share.company) : undefined
      if (waiting === undefined) return false
      batch.items.push(waiting)
      batch.room -= size
      share.taken += 1
      return true
    })
  }
}

function hasPlace<Waiting>(batch: Batch<Waiting>, share: Share, size: number): boolean {
  if (batch.items.length >= batch.maxItems || share.taken === batch.mostOfCompany) return false
  return size <= batch.room || batch.items.length === 0
}
