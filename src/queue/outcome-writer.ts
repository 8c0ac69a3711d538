import type { Db } from '../db/connect.ts'
import { createStatementBatcher } from '../db/statement-batcher.ts'
import type { Claim } from './job.ts'
import { type JobKind, tableOf } from './job-kind.ts'
import { completeJobs, type Rescheduling, releaseJobs, rescheduleJobs } from './job-store.ts'
import type { JobTable } from './job-table.ts'
import type { BatchResult } from './run.ts'
import { withStatementTimeout } from './statements/statement-timeout.ts'

const MOST_WRITES = 1_000
const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 1_000

type OutcomeWriter = {
  /** Resolves once written, or after `giveUp`. Never rejects. */
  write(kind: JobKind, result: BatchResult): Promise<void>
  /** Ends retries: unwritten outcomes are left to lease expiry. */
  giveUp(): void
}

type WriterDeps = { db: Db; log: { warn(fields: object, message: string): void } }

/** Writes outcomes of many batches in one statement, retrying until the database accepts them. */
export function createOutcomeWriter({ db, log }: WriterDeps, kinds: readonly JobKind[]): OutcomeWriter {
  let gaveUp = false

  const persist = async (write: () => Promise<unknown>): Promise<void> => {
    for (let waitMs = FIRST_RETRY_MS; !gaveUp; waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)) {
      try {
        await withStatementTimeout(write())
        return
      } catch (error) {
        if (waitMs === FIRST_RETRY_MS) log.warn({ err: error }, 'job.write_failed')
        await new Promise((done) => setTimeout(done, waitMs))
      }
    }
  }
  const persistent = <Item>(write: (items: Item[]) => Promise<unknown>) =>
    createStatementBatcher<Item, void>({
      run: async (items) => {
        await persist(() => write(items))
        return items.map(() => undefined)
      },
      maxItems: MOST_WRITES,
      maxRunning: 1,
    })
  const writersOf = (table: JobTable) => ({
    complete: persistent<Claim>((claims) => completeJobs(db, claims, table)),
    reschedule: persistent<Rescheduling>((items) => rescheduleJobs(db, items, table)),
  })
  const writers = new Map(kinds.map(tableOf).map((table) => [table, writersOf(table)]))

  return {
    write: async (kind, { complete, reschedule, release }) => {
      const table = tableOf(kind)
      const writer = writers.get(table)
      await Promise.all([
        ...complete.map((claim) => writer?.complete(claim)),
        ...reschedule.map((item) => writer?.reschedule(item)),
        release.length > 0 && persist(() => releaseJobs(db, release, table)),
      ])
    },
    giveUp: () => {
      gaveUp = true
    },
  }
}
