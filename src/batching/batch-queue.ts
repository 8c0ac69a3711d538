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
type Batch<Waiting> = { readonly items: Waiting[]; room: number; readonly mostOfCompany: number }

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

  const hasRoom = (queue: CompanyQueue<Waiting> | undefined, size: number): boolean => {
    if (count >= maxWaiting || bytes + size > maxWaitingBytes) return false
    if (queue === undefined) return true
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

  /** The next item of a company that fits into the batch; undefined when its share of this batch is used up. */
  const takeOne = (share: Share<Waiting>, batch: Batch<Waiting>): Waiting | undefined => {
    const [first] = share.queue.items
    if (first === undefined || share.taken === batch.mostOfCompany) return undefined
    const size = bytesOf(first.item)
    if (size > batch.room && batch.items.length > 0) return undefined
    batch.room -= size
    share.taken += 1
    return shift(share.queue)
  }

  /** Moves companies that were served behind those that were not. */
  const rotate = (shares: readonly Share<Waiting>[]): void => {
    for (const { queue, taken } of shares) {
      if (taken > 0 && queues.delete(queue.company)) queues.set(queue.company, queue)
    }
  }

  return {
    size: () => count,

    add: (waiting) => {
      const size = bytesOf(waiting.item)
      const company = companyOf?.(waiting.item) ?? 0
      const queue = queues.get(company)
      if (!hasRoom(queue, size)) return false
      if (queue === undefined) queues.set(company, { company, items: [waiting], bytes: size })
      else {
        queue.items.push(waiting)
        queue.bytes += size
      }
      count += 1
      bytes += size
      return true
    },

    take: () => {
      const shares = [...queues.values()].map((queue) => ({ queue, taken: 0 }))
      const mostOfCompany = shares.length > 1 ? Math.ceil(maxItems * COMPANY_SHARE) : maxItems
      const batch: Batch<Waiting> = { items: [], room: maxBytes, mostOfCompany }
      let open = shares
      while (open.length > 0) {
        open = open.filter((share) => {
          const waiting = batch.items.length < maxItems ? takeOne(share, batch) : undefined
          if (waiting !== undefined) batch.items.push(waiting)
          return waiting !== undefined
        })
      }
      rotate(shares)
      return batch.items
    },

    removeOldest: (isKept) => {
      for (const queue of [...queues.values()]) {
        while (queue.items[0] !== undefined && !isKept(queue.items[0])) shift(queue)
      }
    },
  }
}
