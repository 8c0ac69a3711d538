import type { Pool } from '../../db/connect.ts'
import { retryUntilAvailable } from '../../db/pool/retry-until-available.ts'
import { backoffMs, DEFAULT_BACKOFF } from '../../queue/backoff.ts'
import { LeaseLost } from '../../queue/claim/lease.ts'
import { done, type Job, type Outcome, released, retryAfter, selfCompleted } from '../../queue/job.ts'
import type { BatchKind } from '../../queue/job-kind.ts'
import { releaseBehind } from '../deliveries/delivery-order-store.ts'
import type { AttemptRecord, HeldDelivery } from '../deliveries/delivery-store.ts'
import { DELIVER, DELIVERIES } from '../deliveries/delivery-table.ts'
import type { SecretCipher } from '../registrations/registration.ts'
import { createHeaderOpener } from '../registrations/sealed-headers.ts'
import { type AttemptDeps, makeAttempt } from './attempt.ts'
import { type AttemptBatches, createAttemptBatches } from './attempt-batches.ts'
import { createFailurePace, type FailurePace } from './failure-pace.ts'
import { createReceiverSlots, MOST_AT_ONCE, type ReceiverSlots, type SlotResult } from './receiver-slots.ts'
import { createSigners } from './signing/signers.ts'

/** Deliveries of a quick registration that are claimed together, and such batches in flight over all processes. */
const BATCH = 150
const LANE_CAP = 4
/**
 * Registrations without a quick history have as many deliveries in flight as may be tried at once, over all processes.
 * The sum bounds the sockets of receivers that hang: an attempt at one lasts 10 s.
 */
const NARROW = { batch: 16, jobsOfLane: MOST_AT_ONCE, jobs: 2_048 }
/** Batches in this process: more than all registrations that are not quick have jobs in flight. */
const CONCURRENCY = 4_000
/** A worker that dies again and again for hours must not cost a delivery: what receivers answer cannot kill it. */
const MAX_LEASE_EXPIRIES = 1_000
/** A known outcome is kept for an hour of a database that is away, though the lease ends: written late, it still counts. */
const COMPLETE_RETRY_MS = 1_000
const COMPLETE_TRIES = 3_600

export type DeliverDeps = Omit<AttemptDeps, 'signers' | 'openHeaders'> & {
  db: Pool
  cipher: Pick<SecretCipher, 'decrypt'>
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
  /** Called for each attempt that was recorded. */
  onAttempt?: (record: AttemptRecord) => void
  /** Called with deliveries that ended without an attempt. */
  onSkipped?: (jobs: readonly Job[]) => void
  /** Milliseconds of a clock that is never set; by default the process's. */
  monotonic?: () => number
}

export type Deliverer = {
  kind: BatchKind
  /** Accepts no new attempts; running attempts finish. Called before the worker stops. */
  close(): void
}

type Working = DeliverDeps & AttemptDeps & AttemptBatches & { slots: ReceiverSlots; pace: FailurePace }

/** Makes the attempts of deliveries that are due (spec: Retries and idempotency). */
export function createDeliverer(deps: DeliverDeps): Deliverer {
  const slots = createReceiverSlots()
  const pace = createFailurePace(deps.monotonic)
  const signers = createSigners(deps.cipher)
  const openHeaders = createHeaderOpener(deps.cipher.decrypt)
  const working: Working = {
    ...deps,
    ...createAttemptBatches(deps.db, deps.clock),
    signers,
    openHeaders,
    slots,
    pace,
  }
  return {
    kind: {
      kind: DELIVER,
      table: DELIVERIES,
      batch: BATCH,
      narrow: { ...NARROW, wideLanes: slots.quick, laneRooms: pace.rooms },
      laneCap: LANE_CAP,
      concurrency: CONCURRENCY,
      maxLeaseExpiries: MAX_LEASE_EXPIRIES,
      onDone: (jobs) => afterSkipping(deps, jobs),
      handle: (jobs, signal) => Promise.all(jobs.map((job) => deliver(working, job, signal))),
    },
    close: slots.close,
  }
}

/**
 * One attempt at one delivery. Never throws: after a fault of the service the delivery is tried again, without using up one
 * of the five attempts.
 */
async function deliver(working: Working, job: Job, signal: AbortSignal): Promise<Outcome> {
  try {
    const record = await attempt(working, job, signal)
    if (record === 'not now') return released
    if (record === 'nothing to do') return done
    if (record === 'waits') return (await working.holdBack(toHeld(job))) ? selfCompleted : released
    // A database that is away must not lead to a second request of the same attempt.
    const finished = { claim: job, record }
    const isStopping = () => signal.aborted && !(signal.reason instanceof LeaseLost)
    const shouldRetry = (tries: number) => tries < COMPLETE_TRIES && !isStopping()
    await retryUntilAvailable(() => working.complete(finished), { everyMs: COMPLETE_RETRY_MS, shouldRetry })
    logAttempt(working, record)
    return selfCompleted
  } catch (error) {
    if (signal.aborted) return released
    working.log.error({ companyId: job.companyId, deliveryId: job.subjectId, err: error }, 'delivery.failed')
    const afterMs = backoffMs(DEFAULT_BACKOFF, job.attempts + 1, working.random())
    return retryAfter(afterMs, { error: String(error) })
  }
}

async function attempt(
  working: Working,
  job: Job,
  signal: AbortSignal,
): Promise<AttemptRecord | 'nothing to do' | 'not now' | 'waits'> {
  const slot = await working.slots.take(job.lane)
  if (slot === undefined) return 'not now'
  let how: SlotResult | undefined
  try {
    if (signal.aborted) return 'not now'
    const started = await working.start(toHeld(job))
    if (started === undefined) return 'nothing to do'
    if (started.waits) return 'waits'
    // Also deliveries that were claimed before their receiver failed. A start has written nothing.
    if (!working.pace.mayStart(job.lane)) return 'not now'
    slot.hold(Buffer.byteLength(started.body))
    const record = await makeAttempt(working, started)
    how = { succeeded: record.next === 'delivered', durationMs: record.durationMs }
    working.pace.learn(job.lane, record.companyId, how)
    return record
  } finally {
    slot.end(how)
  }
}

async function afterSkipping({ db, log, onSkipped }: DeliverDeps, jobs: readonly Job[]): Promise<void> {
  onSkipped?.(jobs)
  // After a failure, the sweep releases them.
  await releaseBehind(db, jobs.map(toHeld)).catch((err) => log.error({ err }, 'delivery.release_failed'))
}

function toHeld({ companyId, id, claimId }: Job): HeldDelivery {
  if (companyId === undefined) throw new Error('A delivery belongs to a company')
  return { companyId, deliveryId: id, claimId }
}

function logAttempt({ log, onAttempt }: Working, record: AttemptRecord): void {
  const { companyId, registrationId, deliveryId, round, attempt, statusCode, errorMessage, durationMs, next } = record
  const ids = { companyId, registrationId, deliveryId }
  log.info({ ...ids, round, attempt, statusCode, errorMessage, durationMs, next }, 'delivery.attempted')
  onAttempt?.(record)
}
