import { createTimer, monotonicMs } from '../platform/clock.ts'
import { type AppError, overloaded } from '../platform/errors.ts'

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

export type SlotRequest = {
  companyId: number
  /** Keeps a database core busy: always limited to the company share. */
  isHeavy: boolean
  /** Whether the caller is still connected. */
  isAwaited: () => boolean
}

export type SlotLimits = {
  slots: number
  /** A third of them for one company. */
  maxWaiting: number
  /** Work that waits longer, in milliseconds, is refused and never runs. */
  maxWaitMs: number
  maxHeavyWaitMs: number
}

export type CompanySlots = {
  /** Holds the slot until the work ends, even if the caller stops waiting. Throws 503 with `Retry-After`. */
  run<T>(request: SlotRequest, work: () => Promise<T>): Promise<T>
  /** Takes a slot at once, for work that still touches the request's rows; returns the release function. */
  hold(companyId: number): () => void
}

type WaitingRequest = {
  request: SlotRequest
  sinceMs: number
  start: () => void
  refuse: (error: unknown) => void
}

const RETRY_AFTER_SECONDS = 1
const ALONE_AFTER_MS = 5_000

/** Serves companies in rotation. Each has at most a third; while alone it can have more, but a third stays free. */
export function createCompanySlots({ slots, maxWaiting, maxWaitMs, maxHeavyWaitMs }: SlotLimits): CompanySlots {
  const share = Math.max(1, Math.floor(slots * COMPANY_SHARE))
  const line = createFairLine<number, WaitingRequest>({
    maxWaiting,
    expiry: {
      maxWaitMs,
      isLate: ({ request, sinceMs }, nowMs) => nowMs - sinceMs >= (request.isHeavy ? maxHeavyWaitMs : maxWaitMs),
      refuse: ({ refuse }) => refuse(noSlot()),
    },
  })
  const activity = createActivity()
  const runningOf = new Map<number, number>()
  const heldOf = new Map<number, number>()
  let running = 0

  const mayRun = ({ companyId, isHeavy }: SlotRequest): boolean => {
    if (running >= slots) return false
    const held = heldOf.get(companyId) ?? 0
    if ((runningOf.get(companyId) ?? 0) + held < share) return true
    return !isHeavy && slots - running - held > share && activity.isAlone(companyId)
  }

  const add = (counts: Map<number, number>, companyId: number, by: number): void => {
    const left = (counts.get(companyId) ?? 0) + by
    if (left === 0) counts.delete(companyId)
    else counts.set(companyId, left)
  }
  const count = (companyId: number, by: number): void => {
    add(runningOf, companyId, by)
    running += by
  }

  const execute = async <T>(companyId: number, work: () => Promise<T>): Promise<T> => {
    count(companyId, 1)
    try {
      return await work()
    } finally {
      count(companyId, -1)
      startNext()
    }
  }

  const startNext = (): void => {
    while (running < slots) {
      const next = line.next(({ request }) => mayRun(request))
      if (next === undefined) return
      if (next.request.isAwaited()) next.start()
      else next.refuse(noSlot())
    }
  }

  return {
    run: <T>(request: SlotRequest, work: () => Promise<T>): Promise<T> => {
      const { companyId } = request
      activity.note(companyId)
      if (line.sizeOf(companyId) === 0 && mayRun(request)) return execute(companyId, work)
      return new Promise<T>((resolve, reject) => {
        const start = () => void execute(companyId, work).then(resolve, reject)
        if (!line.add(companyId, { request, sinceMs: monotonicMs(), start, refuse: reject })) reject(noSlot())
      })
    },
    hold: (companyId) => {
      add(heldOf, companyId, 1)
      return () => {
        add(heldOf, companyId, -1)
        startNext()
      }
    },
  }
}

const noSlot = (): AppError => overloaded(RETRY_AFTER_SECONDS)

/** Remembers the last two companies, enough to know whether one is alone. */
export function createActivity() {
  let latest = { companyId: 0, atMs: Number.NEGATIVE_INFINITY }
  let earlier = latest
  return {
    note: (companyId: number): void => {
      if (latest.companyId !== companyId) earlier = latest
      latest = { companyId, atMs: monotonicMs() }
    },
    isAlone: (companyId: number): boolean => {
      const other = latest.companyId === companyId ? earlier : latest
      return monotonicMs() - other.atMs > ALONE_AFTER_MS
    },
  }
}
