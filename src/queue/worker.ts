import type { Db } from '../db/connect.ts'
import { withoutRequest } from '../db/pool/fair-pool.ts'
import { monotonicMs } from '../platform/clock.ts'
import { byClaim, type ClaimLoop, startClaimLoop } from './claim/claim-loop.ts'
import { acceptDirect, isTooLate } from './claim/direct-dispatch.ts'
import { byTable, claimsOf, createLeases, LEASE_MS, type LeasedBatch, type Leases } from './claim/lease.ts'
import { createRecovery } from './claim/recovery.ts'
import type { Claim, DirectDispatch, Job } from './job.ts'
import { type JobKind, tableOf } from './job-kind.ts'
import { releaseJobs } from './job-store.ts'
import { createOutcomeWriter } from './outcome-writer.ts'
import { type RunDeps, runBatch } from './run.ts'

const DRAIN_MS = 10_000
/** Wait for pending claims at a stop. */
const CLAIM_MS = 2_000
/** Time for aborted handlers to end before their jobs are released. */
const GRACE_MS = 500

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
  const { db, log, random = Math.random, leaseMs = LEASE_MS, onThrow = () => {} } = deps
  const leases = createLeases({ db, log, leaseMs })
  const outcomes = createOutcomeWriter({ db, log }, kinds)
  const recover = createRecovery(db, kinds)
  const counts = new Map<string, number>()
  const loops = new Map<string, ClaimLoop>()
  let stopping: Promise<void> | undefined

  const count = (kind: JobKind, by: number) => counts.set(kind.kind, (counts.get(kind.kind) ?? 0) + by)
  const kindOf = (name: string) => kinds.find(({ kind }) => kind === name)
  const inFlight = (kind: JobKind) => [...leases.batches].filter((batch) => batch.kind === kind)

  const run = async (kind: JobKind, batch: LeasedBatch): Promise<void> => {
    const result = await runBatch({ log, random, onThrow }, kind, batch.jobs, batch.controller.signal)
    await outcomes.write(kind, result)
    if (result.complete.length > 0) await kind.onDone?.(jobsOf(batch.jobs, result.complete))
    leases.drop(batch)
    count(kind, -1)
    loops.get(kind.kind)?.roomFreed()
  }

  /** A claim may return after the stop: do not start its jobs. */
  const take = (kind: JobKind, jobs: Job[], leasedAtMs: number): void => {
    const batch = leases.hold(kind, jobs, leasedAtMs)
    count(kind, 1)
    if (stopping) batch.controller.abort(new Error('The worker stops'))
    else void run(kind, batch)
  }

  for (const kind of kinds) {
    const countInFlight = () => counts.get(kind.kind) ?? 0
    const runClaimed = (jobs: Job[], leasedAtMs: number) => take(kind, jobs, leasedAtMs)
    loops.set(kind.kind, startClaimLoop({ db, log, leaseMs, recover, inFlight: countInFlight, run: runClaimed }, kind))
  }
  leases.start()

  return {
    wake: (kind) => loops.get(kind)?.wake(),
    acceptDirect: (name) => {
      const kind = kindOf(name)
      return kind && !stopping ? acceptDirect(kind, inFlight(kind), leaseMs) : undefined
    },
    dispatch: (jobs, accepted) => {
      const kind = kindOf(accepted.kind)
      if (kind === undefined || jobs.length === 0 || isTooLate(accepted)) return
      if (stopping) void releaseJobs(db, jobs, tableOf(kind)).catch((err) => log.warn({ err }, 'job.release_failed'))
      else for (const batch of byClaim(jobs)) withoutRequest(() => take(kind, batch, accepted.madeAtMs))
    },
    stop: (deadlineMs = DRAIN_MS) => {
      stopping ??= drain({ db, log, leases, loops, giveUp: outcomes.giveUp }, deadlineMs)
      return stopping
    },
  }
}

function jobsOf(jobs: readonly Job[], claims: readonly Claim[]): Job[] {
  const ids = new Set(claims.map(({ id }) => id))
  return jobs.filter(({ id }) => ids.has(id))
}

type Draining = Pick<WorkerDeps, 'db' | 'log'> & {
  leases: Leases
  loops: ReadonlyMap<string, ClaimLoop>
  giveUp: () => void
}

async function drain(worker: Draining, deadlineMs: number): Promise<void> {
  const { leases, loops, giveUp } = worker
  const deadlineAtMs = monotonicMs() + deadlineMs
  const claimsEnded = Promise.all([...loops.values()].map((loop) => loop.stop()))
  await Promise.race([claimsEnded, sleep(Math.min(deadlineMs, CLAIM_MS))])
  await returnToQueue(
    worker,
    [...leases.batches].filter(({ controller }) => controller.signal.aborted),
  )
  await waitUntil(() => leases.batches.size === 0, deadlineAtMs)
  for (const { controller } of leases.batches) controller.abort(new Error('The worker stops'))
  await waitUntil(() => leases.batches.size === 0, monotonicMs() + GRACE_MS)
  giveUp()
  leases.stop()
  await returnToQueue(worker, [...leases.batches])
}

async function returnToQueue({ db, log, leases }: Draining, batches: LeasedBatch[]): Promise<void> {
  if (batches.length === 0) return
  log.warn({ batches: batches.length }, 'job.returned')
  const returned = [...byTable(batches)].map(([table, alike]) => releaseJobs(db, claimsOf(alike), table))
  const all = Promise.all(returned).catch((err) => log.warn({ err }, 'job.release_failed'))
  await Promise.race([all, sleep(GRACE_MS)])
  for (const batch of batches) leases.drop(batch)
}

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

async function waitUntil(isTrue: () => boolean, deadlineAtMs: number): Promise<void> {
  while (!isTrue() && monotonicMs() < deadlineAtMs) await sleep(10)
}
