import { createFairQueue } from './fair-queue.ts'

export type QueueLimits<Item> = {
  /** Items in one batch at most. */
  maxItems: number
  /** Bytes in one batch at most; a larger item goes alone. Absent: without limit. */
  maxBytes?: number
  /** Items that wait at most, a third of them one company's. Absent: without limit. */
  maxWaiting?: number
  /** Bytes that wait at most, a third of them one company's. Absent: without limit. */
  maxWaitingBytes?: number
  /** Size of an item, for the bounds in bytes. */
  bytesOf?: (item: Item) => number
  /** The company an item belongs to. Absent: items have no company, and only the bounds of all apply. */
  companyOf?: (item: Item) => number | string
}

type BatchQueue<Waiting> = {
  size(): number
  /** Returns false, and keeps nothing, when too much waits already. */
  add(waiting: Waiting): boolean
  /** Removes and returns the next batch: one item of each company at a time, each company's items in order of arrival. */
  take(): Waiting[]
  /** Removes the oldest items of each company for which `isKept` is false. */
  removeOldest(isKept: (waiting: Waiting) => boolean): void
}

type Company = number | string
type Share = { readonly company: Company; taken: number }
type Batch<Waiting> = {
  readonly items: Waiting[]
  /** Bytes that may still be added. */
  room: number
  readonly maxItems: number
  readonly mostOfCompany: number
}

/** The part of a batch, while several companies wait, and of what waits that one company has at most. */
const COMPANY_SHARE = 1 / 3

/** The items that wait for a shared call: bounded by count and bytes, with one list per company. */
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

/** Takes one item of each company in each round, until the batch is full or no company has an item that fits. */
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
