import { monotonicMs } from '../../clock.ts'
import type { Db } from '../../db/connect.ts'
import { withTimeout } from '../../http/database-timeout.ts'
import { listSpent } from './unhandled-store.ts'

/** How long the list of refused clients is used before it is read again. */
const TTL_MS = 1_000
/** How long a request waits for the list. A database that is slower or away says so when the body is stored. */
const PATIENCE_MS = 500

/**
 * Makes the function that tells for how many seconds a client is refused: one that posted more than 16 MiB or 10,000 items
 * in an hour that could not be routed (decisions: Provider webhook). 0: it is not refused. The counts are the database's, and
 * exact; each process notices within a second.
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
    return known(address)
  }
  const known = (address: string) => spent.get(address) ?? 0
  return (address) =>
    monotonicMs() < freshUntilMs
      ? known(address)
      : withTimeout(readAndFind(address), undefined, PATIENCE_MS).catch(() => known(address))
}
