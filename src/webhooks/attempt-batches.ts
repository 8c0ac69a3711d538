import { createBatcher } from '../batch.ts'
import type { Clock } from '../clock.ts'
import type { Pool } from '../db/connect.ts'
import type { Claim } from '../jobs/job.ts'
import { finishJobs, rescheduleJobs } from '../jobs/job-store.ts'
import {
  type AttemptRecord,
  type BegunAttempt,
  beginAttempts,
  type DeliveryRef,
  recordAttempts,
} from './delivery-store.ts'

export type Settling = { claim: Claim; record: AttemptRecord }

export type AttemptBatches = {
  /** Begins the delivery's next attempt; undefined when there is none to make. Post at once. */
  begin(delivery: DeliveryRef): Promise<BegunAttempt | undefined>
  /** Writes an attempt's row and what becomes of its delivery and its job; nothing when the job is another's by now. */
  settle(settling: Settling): Promise<void>
}

const MOST_ITEMS = 200

/** The two statements of an attempt, shared by all that begin or end at the same time, whoever's they are. */
export function createAttemptBatches(db: Pool, clock: Clock): AttemptBatches {
  return {
    begin: createBatcher({ run: (items) => beginAll(db, items), maxItems: MOST_ITEMS, maxRunning: 2 }),
    settle: createBatcher({ run: (items) => settleAll(db, clock.now(), items), maxItems: MOST_ITEMS, maxRunning: 2 }),
  }
}

async function beginAll(db: Pool, deliveries: DeliveryRef[]): Promise<(BegunAttempt | undefined)[]> {
  const begun = new Map((await beginAttempts(db, deliveries)).map((one) => [one.deliveryId, one]))
  return deliveries.map(({ deliveryId }) => begun.get(deliveryId))
}

/**
 * The job first: only who still holds it may say what became of the delivery. Otherwise one whose lease was lost could
 * record a failure over which the other's success is dropped, and the delivery would be left without a job.
 */
async function settleAll(db: Pool, now: Date, settlings: Settling[]): Promise<undefined[]> {
  const ended = settlings.filter(({ record }) => !(record.next instanceof Date)).map(({ claim }) => claim)
  const again = settlings.flatMap(({ claim, record: { next } }) =>
    next instanceof Date ? [{ ...claim, afterMs: next.getTime() - now.getTime(), counts: false }] : [],
  )
  await db.begin(async (tx) => {
    const [finished, rescheduled] = await Promise.all([finishJobs(tx, ended), rescheduleJobs(tx, again)])
    const held = settlings.filter(({ claim: { id } }) => finished.has(id) || rescheduled.has(id))
    await recordAttempts(
      tx,
      held.map(({ record }) => record),
    )
  })
  return settlings.map(() => undefined)
}
