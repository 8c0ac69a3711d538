import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/connect.ts'
import { monotonicMs } from '../platform/clock.ts'
import { type Claim, type Job, type JobKind, limitsOf, tableOf } from './job.ts'
import { recoverJobs, releaseJobs, renewJobs, withStatementTimeout } from './job-store.ts'

export const LEASE_MS = 15_000
export const RENEWALS_PER_LEASE = 3
const retryMs = (leaseMs: number): number => leaseMs / 15
/** Time for aborted handlers to end before their jobs are released. */
export const GRACE_MS = 500

/** Signal reason: the lease expired, or another worker has the job. Known outcomes are still written. */
export class LeaseLost extends Error {}

type LeaseDeps = { db: Db; log: { warn(fields: object, message: string): void }; leaseMs: number }

export type LeasedBatch = { jobs: Job[]; leasedAtMs: number; controller: AbortController }

const claimsOf = (batches: readonly LeasedBatch[]): Claim[] =>
  batches.flatMap(({ jobs }) => jobs.map(({ id, claimId }) => ({ id, claimId })))

/** Renews leases while their batches run. Aborts work whose lease was lost or could not be renewed in time. */
export function startLeases({ db, log, leaseMs }: LeaseDeps, kind: JobKind, running: readonly LeasedBatch[]) {
  const table = tableOf(kind)
  const renewEveryMs = leaseMs / RENEWALS_PER_LEASE
  let stopped = false

  const renew = async () => {
    const startedAtMs = monotonicMs()
    const old = running.filter((batch) => startedAtMs - batch.leasedAtMs >= renewEveryMs / 2)
    if (old.length === 0) return
    const lost = await withStatementTimeout(renewJobs(db, claimsOf(old), leaseMs, table), renewEveryMs)
    for (const batch of old) {
      if (batch.jobs.some(({ claimId }) => lost.has(claimId))) endWork(batch)
      else batch.leasedAtMs = startedAtMs
    }
  }
  const endWork = ({ controller, jobs }: LeasedBatch) => {
    if (!controller.signal.aborted) {
      log.warn({ kind: kind.kind, lane: jobs[0]?.lane, jobs: jobs.length }, 'job.lease_lost')
    }
    controller.abort(new LeaseLost('The lease is lost'))
  }
  const tick = async () => {
    let waitMs = renewEveryMs
    try {
      await renew()
    } catch (error) {
      log.warn({ err: error }, 'job.renewal_failed')
      waitMs = retryMs(leaseMs)
      for (const batch of running) if (monotonicMs() - batch.leasedAtMs >= leaseMs) endWork(batch)
    }
    if (!stopped) timer = setTimeout(tick, waitMs)
  }
  let timer = setTimeout(tick, renewEveryMs)

  return {
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
    /** Returns jobs to the queue. */
    release: async (batches: readonly LeasedBatch[]): Promise<void> => {
      if (batches.length === 0) return
      log.warn({ kind: kind.kind, batches: batches.length }, 'job.returned')
      const all = releaseJobs(db, claimsOf(batches), table).catch((err) => log.warn({ err }, 'job.release_failed'))
      await Promise.race([all, sleep(GRACE_MS)])
    },
  }
}

const RECOVER_EVERY_MS = 1_000
/** Workers should first write known outcomes. */
const RECOVER_AFTER_OUTAGE_MS = 5_000

/**
 * Requeues jobs with expired leases, at most once a second for any number of loops. Throws what the database throws.
 */
export function createRecovery(db: Db, kinds: readonly JobKind[]): () => Promise<void> {
  const groups = [...Map.groupBy(kinds, tableOf)].flatMap(([table, ofTable]) =>
    [...Map.groupBy(ofTable, (kind) => limitsOf(kind).maxLeaseExpiries)].map(([maxLeaseExpiries, alike]) => ({
      table,
      maxLeaseExpiries,
      names: alike.map(({ kind }) => kind),
    })),
  )
  let nextAtMs = Number.NEGATIVE_INFINITY
  let isAway = false
  let running: Promise<void> | undefined
  const recover = async () => {
    const startedAtMs = monotonicMs()
    try {
      if (isAway) await withStatementTimeout(db`select 1`)
      else
        for (const one of groups)
          await withStatementTimeout(recoverJobs(db, one.names, one.maxLeaseExpiries, one.table))
      nextAtMs = startedAtMs + (isAway ? RECOVER_AFTER_OUTAGE_MS : RECOVER_EVERY_MS)
      isAway = false
    } catch (error) {
      isAway = true
      throw error
    }
  }
  return async () => {
    if (monotonicMs() < nextAtMs) return
    running ??= recover().finally(() => {
      running = undefined
    })
    await running
  }
}
