import type { Db, Pool } from '../../db/connect.ts'
import { recordKeyOf } from '../../db/input-rows.ts'
import { retryUntilAvailable } from '../../db/pool/failure.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import type { Clock } from '../../platform/clock.ts'
import {
  type BatchKind,
  backoffMs,
  type Claim,
  DEFAULT_BACKOFF,
  done,
  type Job,
  type Outcome,
  released,
  retryAfter,
  selfCompleted,
} from '../../queue/job.ts'
import { LeaseLost } from '../../queue/leases.ts'
import type { Cipher } from '../../secrets/secrets.ts'
import { claimDeliveries } from '../deliveries/claim-deliveries.ts'
import { holdBack, releaseBehind } from '../deliveries/delivery-order-store.ts'
import {
  type AttemptRecord,
  completeAttempts,
  DELIVER,
  DELIVERIES,
  type HeldDelivery,
  type StartedAttempt,
  startAttempts,
} from '../deliveries/delivery-store.ts'
import { createSigners, deliveryHeaders, openHeaders, type Signers } from './delivery-headers.ts'
import { ATTEMPT_TIMEOUT_MS, type AttemptOutcome, type ReceiverClient } from './post.ts'
import {
  createFailurePace,
  createReceiverSlots,
  type FailurePace,
  MOST_AT_ONCE,
  type ReceiverSlots,
  type SlotResult,
} from './receivers.ts'
import { deadLetterMessage, nextAttemptAt } from './schedule.ts'

/** Deliveries per claim and concurrent claims of a quick registration, across processes. */
const WIDE = { batch: 150, batches: 4 }
/**
 * Concurrent deliveries per registration without a quick history, and in all, across processes. The sum bounds the sockets of
 * hanging receivers, where an attempt lasts 10 s.
 */
const NARROW = { batch: 16, ofLane: MOST_AT_ONCE, all: 2_048 }
/** Batches per process; must exceed `NARROW.all`. */
const CONCURRENCY = 4_000
/** Hours of crashing workers must not cost a delivery; no receiver's answer can kill a worker. */
const MAX_LEASE_EXPIRIES = 1_000

type AttemptDeps = {
  clock: Clock
  receiver: Pick<ReceiverClient, 'post'>
  serviceName: string
  signers: Signers
  cipher: Pick<Cipher, 'decrypt'>
  /** In [0, 1). */
  random: () => number
}

export type DeliverDeps = Omit<AttemptDeps, 'signers'> & {
  db: Pool
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
  onAttempt?: (record: AttemptRecord) => void
  /** Called for deliveries that ended without an attempt. */
  onSkipped?: (jobs: readonly Job[]) => void
  /** Milliseconds of a monotonic clock; defaults to the process's. */
  monotonic?: () => number
}

export type Deliverer = {
  kind: BatchKind
  /** Stops accepting attempts; running ones finish. Must be called before the worker stops. */
  close(): void
}

type Working = DeliverDeps & AttemptDeps & AttemptBatches & { slots: ReceiverSlots; pace: FailurePace }

/** Builds the delivery job kind (spec: Retries and idempotency). */
export function createDeliverer(deps: DeliverDeps): Deliverer {
  const slots = createReceiverSlots()
  const pace = createFailurePace(deps.monotonic)
  const signers = createSigners(deps.cipher)
  const working: Working = {
    ...deps,
    ...createAttemptBatches(deps.db, deps.clock),
    signers,
    slots,
    pace,
  }
  return {
    kind: {
      kind: DELIVER,
      table: DELIVERIES,
      batch: WIDE.batch,
      laneCap: WIDE.batches,
      lanes: {
        claim: (db, room) =>
          claimDeliveries(db, {
            ...room,
            wide: { ...WIDE, lanes: slots.quick() },
            narrow: NARROW,
            laneRooms: pace.rooms(),
          }),
        roomOf: (lane) => (slots.quick().has(lane) ? WIDE.batch * WIDE.batches : NARROW.ofLane),
      },
      concurrency: CONCURRENCY,
      maxLeaseExpiries: MAX_LEASE_EXPIRIES,
      onDone: (jobs) => afterSkipping(deps, jobs),
      handle: (jobs, signal) => Promise.all(jobs.map((job) => deliver(working, job, signal))),
    },
    close: slots.close,
  }
}

/** Makes one attempt. Never throws: after an internal fault it retries without using up one of the five attempts. */
async function deliver(working: Working, job: Job, signal: AbortSignal): Promise<Outcome> {
  try {
    const record = await attempt(working, job, signal)
    if (record === 'not now') return released
    if (record === 'nothing to do') return done
    if (record === 'waits') return (await working.holdBack(toHeld(job))) ? selfCompleted : released
    // Must not post twice because the database is away. An outcome counts even after the lease has ended.
    const finished = { claim: job, record }
    const isStopping = () => signal.aborted && !(signal.reason instanceof LeaseLost)
    await retryUntilAvailable(() => working.complete(finished), isStopping)
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
    // The receiver may have failed since the claim. A start writes nothing.
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

/**
 * Makes a started attempt and returns its record (spec: Retries and idempotency).
 * @throws only if the secret can't be opened: our fault, so it must not use up an attempt
 */
export async function makeAttempt(deps: AttemptDeps, started: StartedAttempt): Promise<AttemptRecord> {
  const { registrationId, event, eventId, url, method } = started
  const body = Buffer.from(started.body)
  const signer = started.secret === null ? null : deps.signers(started.secret)
  const sentAt = deps.clock.now()
  const staticHeaders = openHeaders(started.staticHeaders, deps.cipher.decrypt)
  const delivery = { registrationId, event, eventId, body, headers: staticHeaders, signer }
  const headers = deliveryHeaders(deps.serviceName, delivery, sentAt)
  const outcome = await deps.receiver.post({
    url,
    method,
    headers,
    body,
    timeoutMs: ATTEMPT_TIMEOUT_MS,
    registrationId,
  })
  return toRecord(started, outcome, sentAt, deps.clock.now(), deps.random)
}

function toRecord(
  { companyId, deliveryId, registrationId, round, attempt }: StartedAttempt,
  outcome: AttemptOutcome,
  sentAt: Date,
  now: Date,
  random: () => number,
): AttemptRecord {
  const { statusCode, response, errorMessage, durationMs } = outcome
  const next = outcome.kind === 'delivered' ? 'delivered' : nextAttemptAt(now, attempt, outcome, random)
  return {
    companyId,
    deliveryId,
    registrationId,
    round,
    attempt,
    statusCode,
    response,
    errorMessage: next === 'dead' ? deadLetterMessage(errorMessage) : errorMessage,
    durationMs,
    sentAt,
    next,
  }
}

async function afterSkipping({ db, log, onSkipped }: DeliverDeps, jobs: readonly Job[]): Promise<void> {
  onSkipped?.(jobs)
  // The sweep releases them if this fails.
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

type MadeAttempt = { claim: Pick<Claim, 'claimId'>; record: AttemptRecord }

type AttemptBatches = {
  /** Returns undefined without an attempt to make. Post at once. */
  start(delivery: HeldDelivery): Promise<StartedAttempt | undefined>
  /** Does nothing if another worker holds the delivery by now. */
  complete(attempt: MadeAttempt): Promise<void>
  /** Returns false if the delivery can be claimed again at once. */
  holdBack(delivery: HeldDelivery): Promise<boolean>
}

/** Larger statements cost less. The receiver waits for the start; completions wait only for the disk, so two can run. */
const STARTING = { maxItems: 50, maxRunning: 1, spacingMs: 4 }
const COMPLETING = { maxItems: 100, maxRunning: 2, spacingMs: 20 }

export function createAttemptBatches(db: Pool, clock: Clock): AttemptBatches {
  return {
    start: createStatementBatcher({ run: (items) => startAll(db, items), ...STARTING }),
    holdBack: createStatementBatcher({ run: (items) => holdAllBack(db, items), ...STARTING }),
    complete: createStatementBatcher({ run: (items) => completeAll(db, clock.now(), items), ...COMPLETING }),
  }
}

async function startAll(db: Db, deliveries: HeldDelivery[]): Promise<(StartedAttempt | undefined)[]> {
  const started = new Map((await startAttempts(db, deliveries)).map((one) => [keyOf(one), one]))
  return deliveries.map((delivery) => started.get(keyOf(delivery)))
}

async function holdAllBack(db: Pool, deliveries: HeldDelivery[]): Promise<boolean[]> {
  const held = await db.begin((tx) => holdBack(tx, deliveries))
  return deliveries.map((delivery) => held.has(keyOf(delivery)))
}

const keyOf = ({ companyId, deliveryId }: Pick<HeldDelivery, 'companyId' | 'deliveryId'>): string =>
  recordKeyOf({ companyId, id: deliveryId })

async function completeAll(db: Db, now: Date, attempts: MadeAttempt[]): Promise<undefined[]> {
  const completions = attempts.map(({ claim, record }) => {
    const { next } = record
    return { claim, record, afterMs: next instanceof Date ? next.getTime() - now.getTime() : undefined }
  })
  await completeAttempts(db, completions)
  return attempts.map(() => undefined)
}
