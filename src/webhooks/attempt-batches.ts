import { createBatcher } from '../batch.ts'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/connect.ts'
import type { Claim } from '../jobs/job.ts'
import {
  type AttemptRecord,
  type BegunAttempt,
  beginAttempts,
  type DeliveryRef,
  settleAttempts,
} from './delivery-store.ts'

export type Settling = { claim: Claim; record: AttemptRecord }

export type AttemptBatches = {
  /** Begins the delivery's next attempt; undefined when there is none to make. Post at once. */
  begin(delivery: DeliveryRef): Promise<BegunAttempt | undefined>
  /** Writes an attempt's row and what becomes of its delivery and its job; nothing when the job is another's by now. */
  settle(settling: Settling): Promise<void>
}

/**
 * What comes while a statement runs, or so soon after it began, goes together: fewer and larger statements cost both
 * sides less. A receiver waits for the beginning. Nobody waits for what is written afterwards, but for a disk: another
 * statement may run while one is being made durable.
 */
const BEGINNING = { maxItems: 200, maxRunning: 1, spacingMs: 4 }
const SETTLING = { maxItems: 300, maxRunning: 2, spacingMs: 20 }

/** The two statements of an attempt, shared by all that begin or end at the same time, whoever's they are. */
export function createAttemptBatches(db: Db, clock: Clock): AttemptBatches {
  return {
    begin: createBatcher({ run: (items) => beginAll(db, items), ...BEGINNING }),
    settle: createBatcher({ run: (items) => settleAll(db, clock.now(), items), ...SETTLING }),
  }
}

async function beginAll(db: Db, deliveries: DeliveryRef[]): Promise<(BegunAttempt | undefined)[]> {
  const begun = new Map((await beginAttempts(db, deliveries)).map((one) => [one.deliveryId, one]))
  return deliveries.map(({ deliveryId }) => begun.get(deliveryId))
}

async function settleAll(db: Db, now: Date, settlings: Settling[]): Promise<undefined[]> {
  const settlements = settlings.map(({ claim, record }) => {
    const { next } = record
    return { claim, record, afterMs: next instanceof Date ? next.getTime() - now.getTime() : undefined }
  })
  await settleAttempts(db, settlements)
  return settlings.map(() => undefined)
}
