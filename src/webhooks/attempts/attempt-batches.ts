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

type MadeAttempt = { claim: Pick<Claim, 'claimId'>; record: AttemptRecord }

export type AttemptBatches = {
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
