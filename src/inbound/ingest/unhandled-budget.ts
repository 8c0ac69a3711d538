import type { Db } from '../../db/connect.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import { withTimeout } from '../../http/errors/database-timeout.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { countUnhandled, listSpent, type UnhandledCount } from './unhandled-store.ts'

const TTL_MS = 1_000
/** How long a request waits for the list; storing the body will reveal a slow or lost database. */
const PATIENCE_MS = 500

/** Refusals are counted in batches at this interval, for up to this many addresses. */
const SPACING_MS = 250
const MAX_WAITING = 10_000

/** Creates the background counter for refused bodies; no response waits for it. */
export function createRefusalCount(db: Db, onFailure: (error: unknown) => void) {
  const count = createStatementBatcher<UnhandledCount, void>({
    run: async (counts) => {
      await countUnhandled(db, counts)
      return counts.map(() => undefined)
    },
    maxItems: MAX_WAITING,
    maxWaiting: MAX_WAITING,
    maxRunning: 1,
    spacingMs: SPACING_MS,
  })
  return (address: string, bytes: number): void => {
    count({ address, bytes, items: 1 }).catch(onFailure)
  }
}

/** Creates the lookup for refused clients: seconds left after over 16 MiB or 10,000 unhandled items per hour. */
export function createUnhandledBudget(db: Db): (address: string) => number | Promise<number> {
  let spent = new Map<string, number>()
  let freshUntilMs = 0
  let reading: Promise<void> | undefined

  const read = async () => {
    try {
      spent = new Map((await listSpent(db)).map(({ address, seconds }) => [address, seconds]))
      freshUntilMs = monotonicMs() + TTL_MS
    } finally {
      reading = undefined
    }
  }
  const readAndFind = async (address: string) => {
    reading ??= read()
    await reading
    return spentBy(address)
  }
  const spentBy = (address: string) => spent.get(address) ?? 0
  return (address) =>
    monotonicMs() < freshUntilMs
      ? spentBy(address)
      : withTimeout(readAndFind(address), undefined, PATIENCE_MS).catch(() => spentBy(address))
}
