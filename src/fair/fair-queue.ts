/** Items that wait, one list per company: in order of arrival within a company, and companies round robin. */
export type FairQueue<Company, Item> = {
  readonly size: number
  sizeOf(company: Company): number
  /** The companies with items that wait, in the order in which they are served. */
  companies(): Company[]
  first(company: Company): Item | undefined
  /** Removes and returns the first item of the company whose turn it is, which then is the last in line. */
  next(): Item | undefined
  add(company: Company, item: Item): void
  /** Removes and returns the company's first item. The company keeps its place until `moveBehind`. */
  shift(company: Company): Item | undefined
  /** Moves a company that was served behind the others. */
  moveBehind(company: Company): void
  /** Removes and returns the items, of all companies, for which `isRemoved` is true. */
  remove(isRemoved: (item: Item) => boolean): Item[]
}

/** An empty queue. It has no bounds: its user checks them before it adds. */
export function createFairQueue<Company, Item>(): FairQueue<Company, Item> {
  /** A company without items is not in it. */
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
