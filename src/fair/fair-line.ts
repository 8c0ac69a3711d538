import { createTimer, monotonicMs } from '../platform/clock.ts'
import { overloaded } from '../platform/errors.ts'

/** One company's maximum share of a line and, while several companies wait, of the work. */
export const COMPANY_SHARE = 1 / 3

type LineLimits = {
  maxWaiting?: number | undefined
  maxWaitingBytes?: number | undefined
}

type LineOptions<Item> = LineLimits & {
  companyShare?: number
  bytesOf?: (item: Item) => number
  /** Late items leave the line within a quarter of `maxWaitMs`. */
  expiry?: { maxWaitMs: number; isLate: (item: Item, nowMs: number) => boolean; refuse: (item: Item) => void }
}

type FairLine<Company, Item> = {
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

/** What a failed run affects: one item, one company, or only this moment, so the run can be repeated. */
export type FailureScope = 'item' | 'company' | 'moment'

export type BatcherOptions<Item, Result> = LineLimits & {
  /** Must return one result per item, in order. */
  run: (items: Item[]) => Promise<Result[]>
  maxItems: number
  /** A larger item is sent alone. */
  maxBytes?: number
  maxRunning: number
  bytesOf?: (item: Item) => number
  /** Absent: items have no company, and only the overall bounds apply. */
  companyOf?: (item: Item) => number | string
  spacingMs?: number
  /** An item that waits longer is refused and never runs. */
  maxWaitMs?: number
  /** Undefined: the failure affects all items. */
  scopeOf?: (error: unknown) => FailureScope | undefined
}

/** An aborted `signal` drops an item that has not started. Throws 503 `service_unavailable` with `Retry-After`. */
export type Batcher<Item, Result> = (item: Item, signal?: AbortSignal) => Promise<Result>

type Waiting<Item, Result> = {
  item: Item
  bytes: number
  sinceMs: number
  signal: AbortSignal | undefined
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

const RUNS_AT_CONTENTION = 4
const RETRY_AFTER_SECONDS = 1

/**
 * Runs items of one event loop turn together, at once below `maxRunning` batches in flight; a single item never waits.
 * After an item failure (`scopeOf`), the items run one by one; after a company failure, company by company. A momentary
 * failure is retried up to three times.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { maxItems, maxRunning, spacingMs = 0, maxWaitMs = Number.POSITIVE_INFINITY } = options
  const { bytesOf = () => 0, companyOf } = options
  const isLate = ({ signal, sinceMs }: Waiting<Item, Result>, nowMs: number): boolean =>
    signal?.aborted === true || sinceMs <= nowMs - maxWaitMs
  const line = createFairLine<number | string, Waiting<Item, Result>>({
    maxWaiting: options.maxWaiting,
    maxWaitingBytes: options.maxWaitingBytes,
    companyShare: companyOf === undefined ? 1 : COMPANY_SHARE,
    bytesOf: ({ bytes }) => bytes,
    expiry: { maxWaitMs, isLate, refuse },
  })
  let running = 0
  let startedAtMs = Number.NEGATIVE_INFINITY

  const startNext = (): void => {
    while (running < maxRunning && line.size > 0) {
      const nowMs = monotonicMs()
      const waitMs = startedAtMs + spacingMs - nowMs
      if (waitMs > 0 && line.size < maxItems) {
        startLater(waitMs)
        return
      }
      const batch = takeBatch(line, options).filter((waiting) => !isLate(waiting, nowMs) || refuse(waiting))
      if (batch.length === 0) continue
      startedAtMs = nowMs
      running += 1
      void run(batch)
    }
  }

  /** Starts the next batch before resolving this one, since callers then do work of their own. */
  const run = async (batch: Waiting<Item, Result>[]): Promise<void> => {
    const items = batch.map(({ item }) => item)
    const outcomes = await outcomesOf(options, items)
    running -= 1
    startNext()
    answer(batch, outcomes)
  }

  const gather = createTimer(startNext)
  const startLater = createTimer(startNext)

  return (item, signal) =>
    new Promise((resolve, reject) => {
      const waiting = { item, bytes: bytesOf(item), signal, sinceMs: monotonicMs(), resolve, reject }
      if (!line.add(companyOf?.(item) ?? 0, waiting)) refuse(waiting)
      else if (running < maxRunning) gather()
    })
}

const refuse = ({ reject }: Pick<Waiting<never, never>, 'reject'>): void => reject(overloaded(RETRY_AFTER_SECONDS))

/** Takes one item per company in rotation, each company's in order of arrival. */
function takeBatch<Item, Result>(
  line: FairLine<number | string, Waiting<Item, Result>>,
  { maxItems, maxBytes = Number.POSITIVE_INFINITY }: Pick<BatcherOptions<Item, Result>, 'maxItems' | 'maxBytes'>,
): Waiting<Item, Result>[] {
  const batch: Waiting<Item, Result>[] = []
  const mostOfCompany = line.companies > 1 ? Math.ceil(maxItems * COMPANY_SHARE) : maxItems
  const takenOf = new Map<number | string, number>()
  let room = maxBytes
  const mayTake = ({ bytes }: Waiting<Item, Result>, company: number | string): boolean => {
    const taken = takenOf.get(company) ?? 0
    if (taken === mostOfCompany || (bytes > room && batch.length > 0)) return false
    takenOf.set(company, taken + 1)
    room -= bytes
    return true
  }
  while (batch.length < maxItems) {
    const waiting = line.next(mayTake)
    if (waiting === undefined) break
    batch.push(waiting)
  }
  return batch
}

function answer<Item, Result>(batch: Waiting<Item, Result>[], outcomes: PromiseSettledResult<Result>[]): void {
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') batch[index]?.resolve(outcome.value)
    else batch[index]?.reject(outcome.reason)
  }
}

async function outcomesOf<Item, Result>(
  options: BatcherOptions<Item, Result>,
  items: Item[],
): Promise<PromiseSettledResult<Result>[]> {
  try {
    const results = await runRepeatedly(options, items)
    if (results.length !== items.length)
      throw new Error(`A run of ${items.length} items gave ${results.length} results`)
    return results.map((value) => ({ status: 'fulfilled', value }))
  } catch (reason) {
    const parts = partsOf(options, items, reason)
    if (parts.length <= 1) {
      const refusal = options.scopeOf?.(reason) === 'company' ? overloaded(RETRY_AFTER_SECONDS) : reason
      return items.map(() => ({ status: 'rejected', reason: refusal }))
    }
    const outcomes: PromiseSettledResult<Result>[] = []
    for (const part of parts) {
      const items = part.map(([, item]) => item)
      for (const [at, outcome] of (await outcomesOf(options, items)).entries()) outcomes[part[at]?.[0] ?? 0] = outcome
    }
    return outcomes
  }
}

function partsOf<Item, Result>(
  { companyOf, scopeOf }: BatcherOptions<Item, Result>,
  items: Item[],
  reason: unknown,
): readonly (readonly [number, Item])[][] {
  const numbered = [...items.entries()]
  const scope = scopeOf?.(reason)
  if (scope === 'item') return numbered.map((entry) => [entry])
  if (scope === 'company' && companyOf !== undefined) {
    return [...Map.groupBy(numbered, ([, item]) => companyOf(item)).values()]
  }
  return [numbered]
}

async function runRepeatedly<Item, Result>({ run, scopeOf }: BatcherOptions<Item, Result>, items: Item[]) {
  for (let runs = 1; ; runs += 1) {
    try {
      return await run(items)
    } catch (error) {
      if (runs === RUNS_AT_CONTENTION || scopeOf?.(error) !== 'moment') throw error
    }
  }
}
