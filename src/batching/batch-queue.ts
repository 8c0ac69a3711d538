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

export type BatchQueue<Waiting> = {
  size(): number
  /** Returns false, and keeps nothing, when too much waits already. */
  add(waiting: Waiting): boolean
  /** Removes and returns the next batch: one item of each company at a time, each company's items in order of arrival. */
  take(): Waiting[]
  /** Removes the oldest items of each company for which `isKept` is false. */
  removeOldest(isKept: (waiting: Waiting) => boolean): void
}

type CompanyQueue<Waiting> = { readonly company: number | string; readonly items: Waiting[]; bytes: number }
type Share<Waiting> = { readonly queue: CompanyQueue<Waiting>; taken: number }
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
  /** In the order in which they are served; a company without items is not in it. */
  const queues = new Map<number | string, CompanyQueue<Waiting>>()
  let count = 0
  let bytes = 0

  const hasRoom = (queue: CompanyQueue<Waiting>, size: number): boolean => {
    if (count >= maxWaiting || bytes + size > maxWaitingBytes) return false
    if (queue.items.length === 0) return true
    return queue.items.length < maxWaiting * companyShare && queue.bytes + size <= maxWaitingBytes * companyShare
  }

  const shift = (queue: CompanyQueue<Waiting>): Waiting | undefined => {
    const waiting = queue.items.shift()
    if (waiting === undefined) return undefined
    const size = bytesOf(waiting.item)
    count -= 1
    bytes -= size
    queue.bytes -= size
    if (queue.items.length === 0) queues.delete(queue.company)
    return waiting
  }

  return {
    size: () => count,

    add: (waiting) => {
      const size = bytesOf(waiting.item)
      const company = companyOf?.(waiting.item) ?? 0
      const queue = queues.get(company) ?? { company, items: [], bytes: 0 }
      if (!hasRoom(queue, size)) return false
      queues.set(company, queue)
      queue.items.push(waiting)
      queue.bytes += size
      count += 1
      bytes += size
      return true
    },

    take: () => {
      const shares = [...queues.values()].map((queue) => ({ queue, taken: 0 }))
      const mostOfCompany = shares.length > 1 ? Math.ceil(maxItems * COMPANY_SHARE) : maxItems
      const batch: Batch<Waiting> = { items: [], room: maxBytes, maxItems, mostOfCompany }
      fillBatch(batch, shares, bytesOf, shift)
      rotate(queues, shares)
      return batch.items
    },

    removeOldest: (isKept) => {
      for (const queue of [...queues.values()]) {
        while (queue.items[0] !== undefined && !isKept(queue.items[0])) shift(queue)
      }
    },
  }
}

/** Takes one item of each company in each round, until the batch is full or no company has an item that fits. */
function fillBatch<Item, Waiting extends { item: Item }>(
  batch: Batch<Waiting>,
  shares: Share<Waiting>[],
  bytesOf: (item: Item) => number,
  shift: (queue: CompanyQueue<Waiting>) => Waiting | undefined,
): void {
  let open = shares
  while (open.length > 0) {
    open = open.filter((share) => {
      const [first] = share.queue.items
      const size = first === undefined ? 0 : bytesOf(first.item)
      const waiting = hasPlace(batch, share, size) ? shift(share.queue) : undefined
      if (waiting === undefined) return false
      batch.items.push(waiting)
      batch.room -= size
      share.taken += 1
      return true
    })
  }
}

function hasPlace<Waiting>(batch: Batch<Waiting>, share: Share<Waiting>, size: number): boolean {
  if (batch.items.length >= batch.maxItems || share.taken === batch.mostOfCompany) return false
  return size <= batch.room || batch.items.length === 0
}

/** Moves companies that were served behind those that were not. */
function rotate<Waiting>(queues: Map<number | string, CompanyQueue<Waiting>>, shares: readonly Share<Waiting>[]): void {
  for (const { queue, taken } of shares) {
    if (taken > 0 && queues.delete(queue.company)) queues.set(queue.company, queue)
  }
}
