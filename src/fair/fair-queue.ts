export type FairQueue<Company, Item> = {
  readonly size: number
  sizeOf(company: Company): number
  /** In serving order. */
  companies(): Company[]
  first(company: Company): Item | undefined
  next(): Item | undefined
  add(company: Company, item: Item): void
  /** The company keeps its place until `moveBehind`. */
  shift(company: Company): Item | undefined
  moveBehind(company: Company): void
  remove(isRemoved: (item: Item) => boolean): Item[]
}

/** Creates an unbounded queue: one list per company, companies in rotation. Callers must check bounds. */
export function createFairQueue<Company, Item>(): FairQueue<Company, Item> {
  const queues = new Map<Company, Item[]>()
  let size = 0

  const shift = (company: Company): Item | undefined => {
    const queue = queues.get(company)
    const item = queue?.shift()
    if (item === undefined) return undefined
    size -= 1
    if (queue?.length === 0) queues.delete(company)
    return item
  }
  const moveBehind = (company: Company): void => {
    const queue = queues.get(company)
    if (queue !== undefined && queues.delete(company)) queues.set(company, queue)
  }

  return {
    get size() {
      return size
    },
    sizeOf: (company) => queues.get(company)?.length ?? 0,
    companies: () => [...queues.keys()],
    first: (company) => queues.get(company)?.[0],
    add: (company, item) => {
      const queue = queues.get(company)
      if (queue === undefined) queues.set(company, [item])
      else queue.push(item)
      size += 1
    },
    next: () => {
      const [company] = queues.keys()
      if (company === undefined) return undefined
      const item = shift(company)
      moveBehind(company)
      return item
    },
    shift,
    moveBehind,
    remove: (isRemoved) => {
      const removed: Item[] = []
      for (const [company, queue] of queues) {
        const rest = queue.filter((item) => !isRemoved(item) || !removed.push(item))
        if (rest.length === 0) queues.delete(company)
        else if (rest.length < queue.length) queues.set(company, rest)
      }
      size -= removed.length
      return removed
    },
  }
}
