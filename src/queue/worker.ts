import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/connect.ts'
import { withoutRequest } from '../db/pool/fair-pool.ts'
import { createUnorderedList, type UnorderedItem, type UnorderedList } from '../fair/unordered-list.ts'
import { monotonicMs } from '../platform/clock.ts'
import { byClaim, createRecovery, startClaimLoop } from './claim/claim-loop.ts'
import { type Claim, type DirectDispatch, type Job, type JobKind, limitsOf, tableOf } from './job.ts'
import { releaseJobs, renewJobs, withStatementTimeout } from './job-store.ts'
import { createOutcomeWriter, type RunDeps, runJobs } from './run-jobs.ts'

export const LEASE_MS = 15_000
const renewalMs = (leaseMs: number): number => leaseMs / 3
const retryMs = (leaseMs: number): number => leaseMs / 15
const DRAIN_MS = 10_000
/** Wait for pending claims at a stop. */
const CLAIM_MS = 2_000
/** Time for aborted handlers to end before their jobs are released. */
const GRACE_MS = 500

/** Signal reason: the lease expired, or another worker has the job. Known outcomes are still written. */
export class LeaseLost extends Error {}

type WorkerDeps = {
  /** Should be a separate small pool (4 connections): renewals must not queue behind requests. */
  db: Db
  log: RunDeps['log'] & { warn(fields: object, message: string): void }
  random?: () => number
  onThrow?: RunDeps['onThrow']
  leaseMs?: number
}

export type Worker = {
  /** Must be called after the commit that enqueued the work. */
  wake(kind: string): void
  /** Undefined when busy or stopping. After the commit, the caller must dispatch the leased jobs. */
  acceptDirect(kind: string): DirectDispatch | undefined
  dispatch(jobs: readonly Job[], accepted: DirectDispatch): void
  /** After `deadlineMs`, aborts the remaining work and releases its jobs. */
  stop(deadlineMs?: number): Promise<void>
}

/** Runs jobs until stopped. Survives any database failure; a job may run twice after a crash, but ends once. */
export function createWorker(deps: WorkerDeps, kinds: readonly JobKind[]): Worker {
  const recover = createRecovery(deps.db, kinds)
  const runnerDeps = { random: Math.random, onThrow: () => {}, leaseMs: LEASE_MS, ...deps, recover }
  const runners = new Map(kinds.map((kind) => [kind.kind, startRunner(runnerDeps, kind)]))
  let stopping: Promise<void> | undefined
  return {
    wake: (kind) => runners.get(kind)?.wake(),
    acceptDirect: (kind) => runners.get(kind)?.acceptDirect(),
    dispatch: (jobs, accepted) => runners.get(accepted.kind)?.dispatch(jobs, accepted),
    stop: async (deadlineMs = DRAIN_MS) => {
      stopping ??= Promise.all([...runners.values()].map((runner) => runner.stop(deadlineMs))).then(() => {})
      await stopping
    },
  }
}

type RunnerDeps = Required<WorkerDeps> & { recover(): Promise<void> }

/** Runs the jobs of one kind. */
function startRunner(deps: RunnerDeps, kind: JobKind) {
  const { db, log, leaseMs } = deps
  const leases = startLeases(deps, kind)
  const outcomes = createOutcomeWriter(deps, tableOf(kind))
  let isStopping = false

  const run = async (batch: LeasedBatch): Promise<void> => {
    const result = await runJobs(deps, kind, batch.jobs, batch.controller.signal)
    await outcomes.write(result)
    if (result.complete.length > 0) await kind.onDone?.(jobsOf(batch.jobs, result.complete))
    leases.batches.delete(batch)
    loop.roomFreed()
  }
  /** A claim may return after the stop: do not start its jobs. */
  const take = (jobs: Job[], leasedAtMs: number): void => {
    const batch = { jobs, leasedAtMs, controller: new AbortController() }
    leases.batches.add(batch)
    if (isStopping) batch.controller.abort(new Error('The worker stops'))
    else void run(batch)
  }
  const loop = startClaimLoop({ ...deps, inFlight: () => leases.batches.size, run: take }, kind)

  return {
    wake: loop.wake,
    acceptDirect: () => (isStopping ? undefined : acceptDirect(kind, leases.batches, leaseMs)),
    dispatch: (jobs: readonly Job[], { madeAtMs }: DirectDispatch): void => {
      // The leases are overdue for renewal.
      if (jobs.length === 0 || monotonicMs() - madeAtMs > renewalMs(leaseMs)) return
      if (isStopping) releaseJobs(db, jobs, tableOf(kind)).catch((err) => log.warn({ err }, 'job.release_failed'))
      else for (const batch of byClaim(jobs)) withoutRequest(() => take(batch, madeAtMs))
    },
    stop: async (deadlineMs: number): Promise<void> => {
      isStopping = true
      const deadlineAtMs = monotonicMs() + deadlineMs
      await Promise.race([loop.stop(), sleep(Math.min(deadlineMs, CLAIM_MS))])
      await leases.release(({ controller }) => controller.signal.aborted)
      await waitUntil(() => leases.batches.size === 0, deadlineAtMs)
      for (const { controller } of leases.batches) controller.abort(new Error('The worker stops'))
      await waitUntil(() => leases.batches.size === 0, monotonicMs() + GRACE_MS)
      outcomes.giveUp()
      leases.stop()
      await leases.release(() => true)
    },
  }
}

function jobsOf(jobs: readonly Job[], claims: readonly Claim[]): Job[] {
  const ids = new Set(claims.map(({ id }) => id))
  return jobs.filter(({ id }) => ids.has(id))
}

async function waitUntil(isTrue: () => boolean, deadlineAtMs: number): Promise<void> {
  while (!isTrue() && monotonicMs() < deadlineAtMs) await sleep(10)
}

/**
 * Returns the jobs that a worker can take without a claim. Reserves half of each room for claims, which take larger
 * batches. Forwards a message in 8 ms instead of 10 at 50 a second (p99: 18 instead of 26), to ten receivers at 20 a
 * second in 10 instead of 14, and saves a row operation and 0.4 kB of WAL per delivery (mean of two runs each,
 * 2026-11-23).
 */
function acceptDirect(kind: JobKind, own: UnorderedList<LeasedBatch>, leaseMs: number): DirectDispatch | undefined {
  const { laneCap, concurrency } = limitsOf(kind)
  if (own.size >= concurrency / 2) return undefined
  const roomOf = kind.lanes?.roomOf ?? (() => laneCap)
  const counts = new Map<string, number>()
  for (const { jobs } of own) {
    const [first] = jobs
    if (first !== undefined) counts.set(first.lane, (counts.get(first.lane) ?? 0) + jobs.length)
  }
  const fullLanes = [...counts].flatMap(([lane, jobs]) => (jobs >= roomOf(lane) / 2 ? [lane] : []))
  return { kind: kind.kind, fullLanes, leaseMs, madeAtMs: monotonicMs() }
}

type LeasedBatch = UnorderedItem & { jobs: Job[]; leasedAtMs: number; controller: AbortController }

const claimsOf = (batches: readonly LeasedBatch[]): Claim[] =>
  batches.flatMap(({ jobs }) => jobs.map(({ id, claimId }) => ({ id, claimId })))

/** Renews leases while batches run. Aborts work whose lease was lost or could not be renewed in time. */
function startLeases({ db, log, leaseMs }: RunnerDeps, kind: JobKind) {
  const table = tableOf(kind)
  const renewEveryMs = renewalMs(leaseMs)
  const batches = createUnorderedList<LeasedBatch>()
  let stopped = false

  const renew = async () => {
    const startedAtMs = monotonicMs()
    const old = [...batches].filter((batch) => startedAtMs - batch.leasedAtMs >= renewEveryMs / 2)
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
      for (const batch of batches) if (monotonicMs() - batch.leasedAtMs >= leaseMs) endWork(batch)
    }
    if (!stopped) timer = setTimeout(tick, waitMs)
  }
  let timer = setTimeout(tick, renewEveryMs)

  return {
    batches,
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
    /** Returns jobs to the queue. */
    release: async (isReleased: (batch: LeasedBatch) => boolean): Promise<void> => {
      const released = [...batches].filter(isReleased)
      if (released.length === 0) return
      log.warn({ kind: kind.kind, batches: released.length }, 'job.returned')
      const all = releaseJobs(db, claimsOf(released), table).catch((err) => log.warn({ err }, 'job.release_failed'))
      await Promise.race([all, sleep(GRACE_MS)])
      for (const batch of released) batches.delete(batch)
    },
  }
}
