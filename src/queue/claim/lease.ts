import type { Db } from '../../db/connect.ts'
import { createUnorderedList, type UnorderedItem, type UnorderedList } from '../../fair/unordered-list.ts'
import { monotonicMs } from '../../platform/clock.ts'
import type { Claim, Job } from '../job.ts'
import { type JobKind, tableOf } from '../job-kind.ts'
import { renewJobs } from '../job-store.ts'
import { withStatementTimeout } from '../statements/statement-timeout.ts'

/** A lease ends this long after its last renewal. */
export const LEASE_MS = 15_000
/** A lease is renewed after a third of its time. */
export const renewalMs = (leaseMs: number): number => leaseMs / 3
/** A renewal that failed is repeated after a fifteenth. */
const retryMs = (leaseMs: number): number => leaseMs / 15

/** The reason of a signal: the lease ran out, or another worker has the job. Outcomes that are known are still written. */
export class LeaseLost extends Error {}

/** A batch that this worker has leased. */
export type LeasedBatch = UnorderedItem & {
  kind: JobKind
  jobs: Job[]
  leasedAtMs: number
  controller: AbortController
}

/** The batches in flight in this process, whose leases are renewed while they last. */
export type Leases = {
  readonly batches: UnorderedList<LeasedBatch>
  hold(kind: JobKind, jobs: Job[], leasedAtMs: number): LeasedBatch
  drop(batch: LeasedBatch): void
  start(): void
  stop(): void
}

type LeaseDeps = { db: Db; log: { warn(fields: object, message: string): void }; leaseMs: number }

/** Work whose lease is lost, or could not be renewed before it expired, is aborted by its signal: another worker may have it. */
export function createLeases({ db, log, leaseMs }: LeaseDeps): Leases {
  const renewEveryMs = renewalMs(leaseMs)
  const batches = createUnorderedList<LeasedBatch>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const renew = async () => {
    const startedAtMs = monotonicMs()
    const old = [...batches].filter((batch) => startedAtMs - batch.leasedAtMs >= renewEveryMs / 2)
    for (const [table, alike] of byTable(old)) {
      const lost = await withStatementTimeout(renewJobs(db, claimsOf(alike), leaseMs, table), renewEveryMs)
      for (const batch of alike) {
        if (batch.jobs.some(({ claimId }) => lost.has(claimId))) endWork(batch)
        else batch.leasedAtMs = startedAtMs
      }
    }
  }

  const endWork = (batch: LeasedBatch) => {
    if (!batch.controller.signal.aborted) {
      log.warn({ kind: batch.kind.kind, lane: batch.jobs[0]?.lane, jobs: batch.jobs.length }, 'job.lease_lost')
    }
    batch.controller.abort(new LeaseLost('The lease is lost'))
  }

  const tick = async () => {
    let waitMs = renewEveryMs
    try {
      await renew()
    } catch (error) {
      log.warn({ err: error }, 'job.renewal_failed')
      waitMs = retryMs(leaseMs)
      for (const batch of batches) if (monotonicMs() - batch.leasedAtMs >= leaseMs) endWork(batch)
    }
    if (!stopped) timer = setTimeout(() => void tick(), waitMs)
  }

  return {
    batches,
    hold: (kind, jobs, leasedAtMs) => {
      const batch: LeasedBatch = { kind, jobs, leasedAtMs, controller: new AbortController() }
      batches.add(batch)
      return batch
    },
    drop: (batch) => void batches.delete(batch),
    start: () => {
      timer = setTimeout(() => void tick(), renewEveryMs)
    },
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** Batches by the table that their jobs are in: one statement writes to one table. */
export const byTable = (batches: readonly LeasedBatch[]) => Map.groupBy(batches, ({ kind }) => tableOf(kind))

/** The claims of all jobs in these batches. */
export const claimsOf = (batches: Iterable<LeasedBatch>): Claim[] =>
  [...batches].flatMap(({ jobs }) => jobs.map(({ id, claimId }) => ({ id, claimId })))
