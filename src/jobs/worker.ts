import { createBatcher } from '../batching/batch.ts'
import { monotonicMs } from '../clock.ts'
import type { Db } from '../db/connect.ts'
import { byClaim, type ClaimLoop, startClaimLoop } from './claim-loop.ts'
import type { Claim, DirectDispatch, Job } from './job.ts'
import { type JobKind, limitsOf, tableOf } from './job-kind.ts'
import { completeJobs, type Rescheduling, recoverJobs, releaseJobs, rescheduleJobs } from './job-store.ts'
import type { JobTable } from './job-table.ts'
import { byTable, claimsOf, createLeases, LEASE_MS, type LeasedBatch } from './lease.ts'
import { type RunDeps, runBatch } from './run.ts'
import { withStatementTimeout } from './statement-timeout.ts'

const RECOVER_EVERY_MS = 1_000
/** After an outage of the database: for workers to write outcomes that they know, before their jobs go to others. */
const RECOVER_AFTER_OUTAGE_MS = 5_000
const MOST_WRITES = 1_000
const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 1_000
const DRAIN_MS = 10_000
/** For the claims under way when the worker stops. */
const CLAIM_MS = 2_000
/** For handlers to end after their signal was given, before their jobs go to others. */
const GRACE_MS = 500
/** Before the lease of what was enqueued is renewed for the first time. */
const LATEST_DISPATCH_MS = LEASE_MS / 3

export type WorkerDeps = {
  /** Best a small pool of its own (4 connections): renewals must not queue behind requests. */
  db: Db
  log: RunDeps['log'] & { warn(fields: object, message: string): void }
  /** From 0 to 1; for jitter. */
  random?: () => number
}

export type Worker = {
  /** Looks for work of this kind at once: to be called after the commit that enqueued it. */
  wake(kind: string): void
  /**
   * Which jobs of this kind that are being enqueued it takes without a claim. Undefined when it is busy enough, or stops.
   * The caller dispatches the jobs that it has leased once they are committed.
   */
  acceptDirect(kind: string): DirectDispatch | undefined
  dispatch(jobs: readonly Job[], accepted: DirectDispatch): void
  /**
   * Claims nothing more and waits for the work in flight. Work that has not ended after `deadlineMs` is told so by its
   * signal, and its jobs are released for other workers at once.
   */
  stop(deadlineMs?: number): Promise<void>
}

/**
 * Works off jobs of these kinds until it is stopped. Any number of workers may run on one database. Survives every
 * failure of the database; a job may run twice after a crash, but ends once.
 */
export function createWorker(deps: WorkerDeps, kinds: readonly JobKind[]): Worker {
  const { db, log, random = Math.random } = deps
  const leases = createLeases({ db, log })
  const recovery = createRecovery(db, kinds)
  const counts = new Map<string, number>()
  const loops = new Map<string, ClaimLoop>()
  let stopping = false
  let gaveUp = false

  const persist = async (write: () => Promise<unknown>): Promise<void> => {
    for (let waitMs = FIRST_RETRY_MS; !gaveUp; waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)) {
      try {
        await withStatementTimeout(write())
        return
      } catch (error) {
        if (waitMs === FIRST_RETRY_MS) log.warn({ err: error }, 'job.write_failed')
        await sleep(waitMs)
      }
    }
  }
  /** Writes items many at a time, as often as it takes. */
  const persistent = <Item>(write: (items: Item[]) => Promise<unknown>) =>
    createBatcher<Item, void>({
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

  const count = (kind: string, by: number) => counts.set(kind, (counts.get(kind) ?? 0) + by)

  const run = async (kind: JobKind, batch: LeasedBatch): Promise<void> => {
    const ended = await runBatch({ log, random }, kind, batch.jobs, batch.controller.signal)
    const table = tableOf(kind)
    const write = writers.get(table)
    await Promise.all([
      ...ended.complete.map((claim) => write?.complete(claim)),
      ...ended.reschedule.map((item) => write?.reschedule(item)),
      ended.release.length > 0 && persist(() => releaseJobs(db, ended.release, table)),
    ])
    leases.drop(batch)
    count(kind.kind, -1)
    loops.get(kind.kind)?.roomFreed()
  }

  /** A claim may come back after the worker was told to stop: its jobs are not started. */
  const take = (kind: JobKind, jobs: Job[], leasedAtMs: number): void => {
    const batch = leases.hold(kind, jobs, leasedAtMs)
    count(kind.kind, 1)
    if (stopping) batch.controller.abort(new Error('The worker stops'))
    else void run(kind, batch)
  }

  const acceptDirect = (name: string): DirectDispatch | undefined => {
    const kind = kinds.find((one) => one.kind === name)
    if (kind === undefined || stopping) return undefined
    const { laneCap, companyCap, concurrency } = limitsOf(kind)
    // Half of all room stays for what is claimed: for what waits already, in batches that are larger.
    const own = [...leases.batches].filter((batch) => batch.kind === kind)
    if (own.length >= concurrency / 2) return undefined
    const laneOf = ({ jobs: [job] }: LeasedBatch) => job?.lane
    const narrowLanes = keysOf(own, 1, laneOf).filter((lane) => kind.narrow?.wideLanes().has(lane) === false)
    const fullLanes = [...keysOf(own, laneCap / 2, laneOf), ...narrowLanes]
    const fullCompanies = keysOf(own, companyCap / 2, ({ jobs: [job] }) => job?.companyId)
    return { kind: name, fullLanes, fullCompanies, leaseMs: LEASE_MS, madeAtMs: monotonicMs() }
  }

  /** Jobs that come too late are left to their lease: another worker may have them by now. */
  const dispatch = (jobs: readonly Job[], accepted: DirectDispatch): void => {
    const { madeAtMs } = accepted
    const kind = kinds.find((one) => one.kind === accepted.kind)
    if (kind === undefined || jobs.length === 0 || monotonicMs() - madeAtMs > LATEST_DISPATCH_MS) return
    if (stopping) void releaseJobs(db, jobs, tableOf(kind)).catch((err) => log.warn({ err }, 'job.release_failed'))
    else for (const batch of byClaim(jobs)) take(kind, batch, madeAtMs)
  }

  for (const kind of kinds) {
    const inFlight = () => counts.get(kind.kind) ?? 0
    const takeBatch = (jobs: Job[], leasedAtMs: number) => take(kind, jobs, leasedAtMs)
    loops.set(kind.kind, startClaimLoop({ db, log, recover: recovery, inFlight, run: takeBatch }, kind))
  }
  leases.start()

  const returnToQueue = async (batches: LeasedBatch[]): Promise<void> => {
    if (batches.length === 0) return
    log.warn({ batches: batches.length }, 'job.returned')
    const returned = [...byTable(batches)].map(([table, alike]) => releaseJobs(db, claimsOf(alike), table))
    const all = Promise.all(returned).catch((err) => log.warn({ err }, 'job.release_failed'))
    await Promise.race([all, sleep(GRACE_MS)])
    for (const batch of batches) leases.drop(batch)
  }

  const drain = async (deadlineMs: number): Promise<void> => {
    stopping = true
    const deadlineAtMs = monotonicMs() + deadlineMs
    const claimsEnded = Promise.all([...loops.values()].map((loop) => loop.stop()))
    await Promise.race([claimsEnded, sleep(Math.min(deadlineMs, CLAIM_MS))])
    await returnToQueue([...leases.batches].filter(({ controller }) => controller.signal.aborted))
    await waitUntil(() => leases.batches.size === 0, deadlineAtMs)
    for (const { controller } of leases.batches) controller.abort(new Error('The worker stops'))
    await waitUntil(() => leases.batches.size === 0, monotonicMs() + GRACE_MS)
    gaveUp = true
    leases.stop()
    await returnToQueue([...leases.batches])
  }

  let stopped: Promise<void> | undefined
  return {
    wake: (kind) => loops.get(kind)?.wake(),
    acceptDirect,
    dispatch,
    stop: (deadlineMs = DRAIN_MS) => {
      stopped ??= drain(deadlineMs)
      return stopped
    },
  }
}

/** Recovers at most once a second, however many loops ask, and not right after an outage. */
function createRecovery(db: Db, kinds: readonly JobKind[]): () => Promise<void> {
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
      if (isAway) await withStatementTimeout(db`select 1`.execute())
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

/** The keys that so many batches have. */
function keysOf<Key>(
  batches: readonly LeasedBatch[],
  least: number,
  keyOf: (batch: LeasedBatch) => Key | undefined,
): Key[] {
  const counts = new Map<Key | undefined, number>()
  for (const batch of batches) counts.set(keyOf(batch), (counts.get(keyOf(batch)) ?? 0) + 1)
  return [...counts].flatMap(([key, count]) => (key !== undefined && count >= least ? [key] : []))
}

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

async function waitUntil(isTrue: () => boolean, deadlineAtMs: number): Promise<void> {
  while (!isTrue() && monotonicMs() < deadlineAtMs) await sleep(10)
}
