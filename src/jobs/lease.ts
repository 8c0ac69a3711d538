import { type Bag, type Bagged, createBag } from '../batching/bag.ts'
import { monotonicMs } from '../clock.ts'
import type { Db } from '../db/connect.ts'
import { withDeadline } from './deadline.ts'
import type { Claim, Job } from './job.ts'
import { type JobKind, tableOf } from './job-kind.ts'
import { renewJobs } from './job-store.ts'

/** A lease ends this long after its last renewal. */
export const LEASE_MS = 15_000
const RENEW_EVERY_MS = 5_000
const RETRY_MS = 1_000

/** The reason of a signal: the lease ran out, or another worker has the job. Outcomes that are known are still written. */
export class LeaseLost extends Error {}

/** A unit in the hands of this worker. */
export type Unit = Bagged & { kind: JobKind; jobs: Job[]; leasedAtMs: number; controller: AbortController }

/** The units in flight in this process, whose leases are renewed while they last. */
export type Leases = {
  readonly units: Bag<Unit>
  hold(kind: JobKind, jobs: Job[], leasedAtMs: number): Unit
  drop(unit: Unit): void
  start(): void
  stop(): void
}

type LeaseDeps = { db: Db; log: { warn(fields: object, message: string): void } }

/** Work whose lease is lost, or could not be renewed in time, is told to end by its signal: another may have it. */
export function createLeases({ db, log }: LeaseDeps): Leases {
  const units = createBag<Unit>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const renew = async () => {
    const startedAtMs = monotonicMs()
    const old = [...units].filter((unit) => startedAtMs - unit.leasedAtMs >= RENEW_EVERY_MS / 2)
    for (const [table, alike] of byTable(old)) {
      const lost = await withDeadline(renewJobs(db, claimsOf(alike), LEASE_MS, table), RENEW_EVERY_MS)
      for (const unit of alike) {
        if (unit.jobs.some(({ id }) => lost.has(id))) endWork(unit)
        else unit.leasedAtMs = startedAtMs
      }
    }
  }

  const endWork = (unit: Unit) => {
    if (!unit.controller.signal.aborted) {
      log.warn({ kind: unit.kind.kind, lane: unit.jobs[0]?.lane, jobs: unit.jobs.length }, 'job.lease_lost')
    }
    unit.controller.abort(new LeaseLost('The lease is lost'))
  }

  const tick = async () => {
    let waitMs = RENEW_EVERY_MS
    try {
      await renew()
    } catch (error) {
      log.warn({ err: error }, 'job.renewal_failed')
      waitMs = RETRY_MS
      for (const unit of units) if (monotonicMs() - unit.leasedAtMs >= LEASE_MS) endWork(unit)
    }
    if (!stopped) timer = setTimeout(() => void tick(), waitMs)
  }

  return {
    units,
    hold: (kind, jobs, leasedAtMs) => {
      const unit: Unit = { kind, jobs, leasedAtMs, controller: new AbortController() }
      units.add(unit)
      return unit
    },
    drop: (unit) => void units.delete(unit),
    start: () => {
      timer = setTimeout(() => void tick(), RENEW_EVERY_MS)
    },
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

export const byTable = (units: readonly Unit[]) => Map.groupBy(units, ({ kind }) => tableOf(kind))

export const claimsOf = (units: Iterable<Unit>): Claim[] =>
  [...units].flatMap(({ jobs }) => jobs.map(({ id, claimId }) => ({ id, claimId })))
