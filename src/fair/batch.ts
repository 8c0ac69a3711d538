import { monotonicMs } from '../platform/clock.ts'
import { overloaded } from '../platform/errors.ts'
import { createTimer } from '../platform/timer.ts'
import { createBatchQueue, type QueueLimits } from './batch-queue.ts'

/** What a failed run affects: one item, one company, or only this moment, so the run can be repeated. */
export type FailureScope = 'item' | 'company' | 'moment'

export type BatcherOptions<Item, Result> = QueueLimits<Item> & {
  /** Must return one result per item, in order. */
  run: (items: Item[]) => Promise<Result[]>
  maxRunning: number
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
  const queue = createBatchQueue<Item, Waiting<Item, Result>>(options)
  const needsClock = spacingMs > 0 || Number.isFinite(maxWaitMs)
  let running = 0
  let startedAtMs = Number.NEGATIVE_INFINITY

  const startNext = (): void => {
    while (running < maxRunning && queue.size() > 0) {
      const nowMs = needsClock ? monotonicMs() : 0
      const waitMs = startedAtMs + spacingMs - nowMs
      if (waitMs > 0 && queue.size() < maxItems) {
        startLater(waitMs)
        return
      }
      const batch = queue.take().filter((waiting) => keepUnlessStale(waiting, nowMs - maxWaitMs))
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

  const expire = (): void => {
    const nowMs = monotonicMs()
    queue.removeOldest((waiting) => keepUnlessStale(waiting, nowMs - maxWaitMs))
    if (queue.size() > 0) expireLater(maxWaitMs / 4)
  }

  const gather = createTimer(startNext)
  const startLater = createTimer(startNext)
  const expireLater = createTimer(expire)

  return (item, signal) =>
    new Promise((resolve, reject) => {
      const sinceMs = needsClock ? monotonicMs() : 0
      if (!queue.add({ item, signal, sinceMs, resolve, reject })) return reject(overloaded(RETRY_AFTER_SECONDS))
      if (running < maxRunning) gather()
      if (Number.isFinite(maxWaitMs)) expireLater(maxWaitMs / 4)
    })
}

function keepUnlessStale<Item, Result>(waiting: Waiting<Item, Result>, staleMs: number): boolean {
  const isKept = waiting.signal?.aborted !== true && waiting.sinceMs > staleMs
  if (!isKept) waiting.reject(overloaded(RETRY_AFTER_SECONDS))
  return isKept
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
