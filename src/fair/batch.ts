import { monotonicMs } from '../platform/clock.ts'
import { overloaded } from '../platform/errors.ts'
import { createTimer } from '../platform/timer.ts'
import { createBatchQueue, type QueueLimits } from './batch-queue.ts'

/** What a failed run concerns: one of its items, one of its companies, or only the moment, so that it can be repeated. */
export type FailureScope = 'item' | 'company' | 'moment'

export type BatcherOptions<Item, Result> = QueueLimits<Item> & {
  /** Processes many items at once; returns one result per item, in their order. */
  run: (items: Item[]) => Promise<Result[]>
  /** Batches in flight at most; items that arrive meanwhile wait for the next one. */
  maxRunning: number
  /** From the start of one batch to that of the next at least, unless a full batch waits. */
  spacingMs?: number
  /** How long an item may wait for its start; then it is refused, and never runs. Absent: without limit. */
  maxWaitMs?: number
  /** Returns the scope of a failure, undefined for all items. Absent: every failure is every item's. */
  scopeOf?: (error: unknown) => FailureScope | undefined
}

/**
 * Adds an item to a batch. An item whose `signal` is aborted before its batch starts is dropped and never runs.
 * @throws {AppError} 503 `service_unavailable` with `Retry-After`, when too much waits or the item waited too long
 */
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
 * Shares one call among many items: items that arrive in one turn of the event loop go together, at once while fewer
 * than `maxRunning` batches are in flight, else in the next batch. A single item waits for no other; under load the
 * cost per item falls. The queue is bounded (batch-queue.ts) and fair to companies with `companyOf`.
 *
 * After a failure of one item (`scopeOf`), the items of a batch run one by one, so that a bad item fails alone; after one of a
 * company, company by company. After a failure of the moment, the batch is repeated up to three times. Every other error is every
 * item's.
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

  /** Starts the next batch before the results of this one reach the callers, whose own work takes time. */
  const run = async (batch: Waiting<Item, Result>[]): Promise<void> => {
    const items = batch.map(({ item }) => item)
    const outcomes = await outcomesOf(options, items)
    running -= 1
    startNext()
    answer(batch, outcomes)
  }

  /** Refuses items that wait too long behind batches in flight, so that the time of waiting is bounded, too. */
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

/** Whether a caller still waits for the item, since after `staleMs`; otherwise the item is refused. */
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

/** How each of the items ended; never rejects. */
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

/** The parts of a batch to run again after a failure. */
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
