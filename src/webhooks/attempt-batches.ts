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

const MOST_ITEMS = 200
/** What comes while one runs goes together: fewer and larger statements cost both sides less. */
const MOST_RUNNING = 1

/** The two statements of an attempt, shared by all that begin or end at the same time, whoever's they are. */
export function createAttemptBatches(db: Db, clock: Clock): AttemptBatches {
  const limits = { maxItems: MOST_ITEMS, maxRunning: MOST_RUNNING }
  return {
    begin: createBatcher({ run: (items) => beginAll(db, items), ...limits }),
    settle: createBatcher({ run: (items) => settleAll(db, clock.now(), items), ...limits }),
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
