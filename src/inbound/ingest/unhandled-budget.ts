import type { Db } from '../../db/connect.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import { withTimeout } from '../../http/errors/database-timeout.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { countUnhandled, listSpent, type UnhandledCount } from './unhandled-store.ts'

/** How long the list of refused clients is used before it is read again. */
const TTL_MS = 1_000
/** How long a request waits for the list. A database that is slower or away says so when the body is stored. */
const PATIENCE_MS = 500

/** Counts of refused bodies are written at most so often, all of them together, and this many addresses wait at most. */
const SPACING_MS = 250
const MAX_WAITING = 10_000

/** Makes the function that counts a refused body against its client, in the background: an answer never waits for it. */
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

/**
 * Makes the function that returns for how many seconds a client is refused: one that posted more than 16 MiB or 10,000
 * items in an hour that were refused or could not be routed (decisions: Provider webhook). 0: it is not refused. The
 * counts are the database's, and exact; each process notices within a second.
 */
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
