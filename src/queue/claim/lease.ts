import type { Db } from '../../db/connect.ts'
import { createUnorderedList, type UnorderedItem, type UnorderedList } from '../../fair/unordered-list.ts'
import { monotonicMs } from '../../platform/clock.ts'
import type { Claim, Job } from '../job.ts'
import { type JobKind, tableOf } from '../job-kind.ts'
import { renewJobs } from '../job-store.ts'
import { withStatementTimeout } from '../statements/statement-timeout.ts'

export const LEASE_MS = 15_000
export const renewalMs = (leaseMs: number): number => leaseMs / 3
const retryMs = (leaseMs: number): number => leaseMs / 15

/** Signal reason: the lease expired, or another worker has the job. Known outcomes are still written. */
export class LeaseLost extends Error {}

export type LeasedBatch = UnorderedItem & {
  kind: JobKind
  jobs: Job[]
  leasedAtMs: number
  controller: AbortController
}

export type Leases = {
  readonly batches: UnorderedList<LeasedBatch>
  hold(kind: JobKind, jobs: Job[], leasedAtMs: number): LeasedBatch
  drop(batch: LeasedBatch): void
  start(): void
  stop(): void
}

type LeaseDeps = { db: Db; log: { warn(fields: object, message: string): void }; leaseMs: number }

/** Renews leases while batches run. Aborts work whose lease was lost or could not be renewed in time. */
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

export const byTable = (batches: readonly LeasedBatch[]) => Map.groupBy(batches, ({ kind }) => tableOf(kind))

export const claimsOf = (batches: Iterable<LeasedBatch>): Claim[] =>
  [...batches].flatMap(({ jobs }) => jobs.map(({ id, claimId }) => ({ id, claimId })))
