import type { Db, Pool } from '../../../db/connect.ts'
import { done, retryAfter } from '../../../queue/job.ts'
import type { SingleKind } from '../../../queue/job-kind.ts'
import { enqueueJobs } from '../../../queue/job-store.ts'
import { findRegistration } from '../../registrations/registration-store.ts'
import { deleteRedelivery, lockRedelivery, recordStep, renewStep } from './redelivery-store.ts'

const WEBHOOK_REDELIVER = 'webhook.redeliver'
/** At most 500 deliveries per second and company. */
const STEP = 100
const PAUSE_MS = 200
/** Never fails: a failed job would block the next request. */
const MAX_ATTEMPTS = 1_000_000
const MAX_LEASE_EXPIRIES = 1_000

type RedeliveryJobDeps = {
  db: Pool
  onRenewed(companyId: number): void
}

/** Enqueues a redelivery; ranges of one company run one after another. */
export async function enqueueRedelivery(tx: Db, companyId: number, id: number): Promise<void> {
  const job = { kind: WEBHOOK_REDELIVER, lane: `company:${companyId}`, companyId, subjectId: id, once: true }
  await enqueueJobs(tx, [job])
}

/** Creates the job kind; steps keep a long range from delaying other companies. */
export const redeliverKind = (deps: RedeliveryJobDeps): SingleKind => ({
  kind: WEBHOOK_REDELIVER,
  laneCap: 1,
  ordered: true,
  concurrency: 2,
  maxAttempts: MAX_ATTEMPTS,
  maxLeaseExpiries: MAX_LEASE_EXPIRIES,
  handle: async ({ companyId = 0, subjectId }) =>
    (await advanceRedelivery(deps, companyId, subjectId)) ? retryAfter(PAUSE_MS, { counts: false }) : done,
})

/** Renews the next deliveries in one transaction; returns whether more may follow. Ends with the registration. */
export async function advanceRedelivery(deps: RedeliveryJobDeps, companyId: number, id: number): Promise<boolean> {
  const last = await deps.db.begin(async (tx) => {
    const redelivery = await lockRedelivery(tx, companyId, id)
    if (redelivery === undefined) return undefined
    const registration = await findRegistration(tx, companyId, redelivery.registrationId)
    const step =
      registration?.status === 'active' ? await renewStep(tx, companyId, redelivery, STEP) : { last: undefined }
    if (step.last === undefined) await deleteRedelivery(tx, companyId, id)
    else await recordStep(tx, companyId, id, step.last)
    return step.last
  })
  deps.onRenewed(companyId)
  return last !== undefined
}
