import type { Db, Pool } from '../../db/connect.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import type { Clock } from '../../platform/clock.ts'
import { recordKeyOf } from '../../platform/ids.ts'
import type { Claim } from '../../queue/job.ts'
import { holdBack } from '../deliveries/delivery-order-store.ts'
import {
  type AttemptRecord,
  completeAttempts,
  type HeldDelivery,
  type StartedAttempt,
  startAttempts,
} from '../deliveries/delivery-store.ts'

export type MadeAttempt = { claim: Pick<Claim, 'claimId'>; record: AttemptRecord }

export type AttemptBatches = {
  /** Starts the delivery's next attempt; undefined when there is none to make. Post at once. */
  start(delivery: HeldDelivery): Promise<StartedAttempt | undefined>
  /** Records an attempt and the next state of its delivery; nothing if another worker holds the delivery by now. */
  complete(attempt: MadeAttempt): Promise<void>
  /** Holds back a delivery that waits for an earlier one; false when it is to be claimed again at once. */
  holdBack(delivery: HeldDelivery): Promise<boolean>
}

/**
 * Items that come while a statement runs, or so soon after it started, go together: fewer and larger statements cost
 * both sides less. A receiver waits for the start. Statements afterwards wait only for the disk: another one may run
 * while one is being made durable.
 */
const STARTING = { maxItems: 200, maxRunning: 1, spacingMs: 4 }
const COMPLETING = { maxItems: 300, maxRunning: 2, spacingMs: 20 }

/** The two statements of an attempt, shared by all attempts that start or end at the same time, of any company. */
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
