import { monotonicMs } from './clock.ts'
import { isContention, isDataError } from './db/failure.ts'

export type BatcherOptions<Item, Result> = {
  /** Does the work for many items at once; answers one result per item, in their order. */
  run: (items: Item[]) => Promise<Result[]>
  /** Items handed to one run at most. */
  maxItems: number
  /** Runs in flight at most; what comes meanwhile is gathered for the next one. */
  maxRunning: number
  /** From the beginning of one run to that of the next at least, unless as many items wait as a run may have. */
  spacingMs?: number
}

type Waiting<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }

const RUNS_AT_CONTENTION = 4

/**
 * Makes one call of many: what arrives in one turn of the event loop goes together, at once while fewer than `maxRunning`
 * runs are in flight, else in the next run with all that waits, in the order of arrival. A lone item pays next to
 * nothing; under load the cost per item falls.
 *
 * When the database refuses the data of a run of several, its items run one by one, so that a bad item fails alone.
 * After a deadlock or a serialisation failure the run is repeated up to three times. Every other error is every item's.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { spacingMs = 0 } = options
  let waiting: Waiting<Item, Result>[] = []
  let running = 0
  let startedAtMs = Number.NEGATIVE_INFINITY
  let isGathering = false
  let isPausing = false

  const gather = (): void => {
    if (isGathering || running === options.maxRunning) return
    isGathering = true
    setImmediate(() => {
      isGathering = false
      startNext()
    })
  }

  const startNext = (): void => {
    while (running < options.maxRunning && waiting.length > 0) {
      const nowMs = spacingMs > 0 ? monotonicMs() : 0
      const waitMs = startedAtMs + spacingMs - nowMs
      if (waitMs > 0 && waiting.length < options.maxItems) {
        startAfter(waitMs)
        return
      }
      startedAtMs = nowMs
      const batch = waiting.slice(0, options.maxItems)
      waiting = waiting.slice(options.maxItems)
      running += 1
      void runBatch(batch)
    }
  }

  /** The next run is under way before anybody hears of this one: what hearing leads to takes its time. */
  const runBatch = async (batch: Waiting<Item, Result>[]): Promise<void> => {
    const items = batch.map(({ item }) => item)
    const outcomes = await outcomesOf(options.run, items)
    running -= 1
    startNext()
    for (const [place, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') batch[place]?.resolve(outcome.value)
      else batch[place]?.reject(outcome.reason)
    }
  }

  const startAfter = (waitMs: number): void => {
    if (isPausing) return
    isPausing = true
    setTimeout(() => {
      isPausing = false
      startNext()
    }, waitMs)
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      gather()
    })
}

/** How each of the items ended; never rejects. */
async function outcomesOf<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  items: Item[],
): Promise<PromiseSettledResult<Result>[]> {
  try {
    const results = await runRepeatedly(run, items)
    if (results.length !== items.length)
      throw new Error(`A run of ${items.length} items gave ${results.length} results`)
    return results.map((value) => ({ status: 'fulfilled', value }))
  } catch (reason) {
    if (items.length === 1 || !isDataError(reason)) return items.map(() => ({ status: 'rejected', reason }))
    const outcomes: PromiseSettledResult<Result>[] = []
    for (const item of items) outcomes.push(...(await outcomesOf(run, [item])))
    return outcomes
  }
}

async function runRepeatedly<Item, Result>(run: (items: Item[]) => Promise<Result[]>, items: Item[]) {
  for (let runs = 1; ; runs += 1) {
    try {
      return await run(items)
    } catch (error) {
      if (runs === RUNS_AT_CONTENTION || !isContention(error)) throw error
    }
  }
}
