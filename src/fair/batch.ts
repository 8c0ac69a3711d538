import { createTimer, monotonicMs } from '../platform/clock.ts'
import { overloaded } from '../platform/errors.ts'
import { COMPANY_SHARE, createFairLine, type FairLine, type LineLimits } from './fair-line.ts'

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
  companyOf?: (item: Item) => Company
  spacingMs?: number
  /** An item that waits longer is refused and never runs. */
  maxWaitMs?: number
  /** Undefined: the failure affects all items. */
  scopeOf?: (error: unknown) => FailureScope | undefined
}

/** An aborted `signal` drops an item that has not started. Throws 503 `service_unavailable` with `Retry-After`. */
export type Batcher<Item, Result> = (item: Item, signal?: AbortSignal) => Promise<Result>

type Company = number | string

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
  const line = createFairLine<Company, Waiting<Item, Result>>({
    maxWaiting: options.maxWaiting,
    maxWaitingBytes: options.maxWaitingBytes,
    companyShare: companyOf === undefined ? 1 : COMPANY_SHARE,
    bytesOf: ({ bytes }) => bytes,
    expiry: { maxWaitMs, isLate, refuse },
  })
  const needsClock = spacingMs > 0 || Number.isFinite(maxWaitMs)
  let running = 0
  let startedAtMs = Number.NEGATIVE_INFINITY

  const startNext = (): void => {
    while (running < maxRunning && line.size > 0) {
      const nowMs = needsClock ? monotonicMs() : 0
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
      const sinceMs = needsClock ? monotonicMs() : 0
      const waiting = { item, bytes: bytesOf(item), signal, sinceMs, resolve, reject }
      if (!line.add(companyOf?.(item) ?? 0, waiting)) refuse(waiting)
      else if (running < maxRunning) gather()
    })
}

const refuse = ({ reject }: Pick<Waiting<never, never>, 'reject'>): void => reject(overloaded(RETRY_AFTER_SECONDS))

/** Takes one item per company in rotation, each company's in order of arrival. */
function takeBatch<Item, Result>(
  line: FairLine<Company, Waiting<Item, Result>>,
  { maxItems, maxBytes = Number.POSITIVE_INFINITY }: Pick<BatcherOptions<Item, Result>, 'maxItems' | 'maxBytes'>,
): Waiting<Item, Result>[] {
  const batch: Waiting<Item, Result>[] = []
  const mostOfCompany = line.companies > 1 ? Math.ceil(maxItems * COMPANY_SHARE) : maxItems
  const takenOf = new Map<Company, number>()
  let room = maxBytes
  const mayTake = ({ bytes }: Waiting<Item, Result>, company: Company): boolean => {
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
    const outcomes: [number, PromiseSettledResult<Result>][] = []
    for (const part of parts) {
      const ended = await outcomesOf(
        options,
        part.map(([, item]) => item),
      )
      outcomes.push(...ended.map((outcome, at): [number, typeof outcome] => [part[at]?.[0] ?? 0, outcome]))
    }
    return outcomes.sort(([one], [other]) => one - other).map(([, outcome]) => outcome)
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
