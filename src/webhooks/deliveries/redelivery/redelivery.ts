import type { Db, Pool } from '../../../db/connect.ts'
import { badRequest, deliveryLogNotFound, validationError } from '../../../platform/errors.ts'
import { done, retryAfter, type SingleKind } from '../../../queue/job.ts'
import { enqueueJobs } from '../../../queue/job-store.ts'
import { getRegistrationRow } from '../../registrations/registration.ts'
import { findRegistration, type RegistrationRow } from '../../registrations/registration-store.ts'
import { findLoggedDelivery } from '../log/delivery-log-store.ts'
import {
  countFinished,
  deleteRedelivery,
  insertRedelivery,
  lockRedeliveries,
  lockRedelivery,
  type RedeliveryRange,
  recordStep,
  renewDelivery,
  renewStep,
} from './redelivery-store.ts'

export const MOST_WAITING = 100

export type RedeliveryDeps = {
  db: Pool
  onEnqueued: (companyId: number) => void
}

/** Redelivers one log entry: same body and delivery id, five attempts. A pending delivery stays unchanged. */
export async function redeliverLog(
  { db, onEnqueued }: RedeliveryDeps,
  companyId: number,
  registrationId: number | undefined,
  logId: number | undefined,
  alsoCommit: (tx: Db) => Promise<void> = async () => {},
): Promise<void> {
  const registration = await getRegistrationRow({ db }, companyId, registrationId)
  const logged = logId === undefined ? undefined : await findLoggedDelivery(db, companyId, registration.id, logId)
  if (logged === undefined) throw deliveryLogNotFound()
  checkActive(registration)
  await db.begin(async (tx) => {
    await renewDelivery(tx, companyId, logged.deliveryId)
    await alsoCommit(tx)
  })
  onEnqueued(companyId)
}

/**
 * Enqueues redelivery of a range; returns the number found. Deliveries of waiting redeliveries aren't added again.
 * `alsoCommit` runs last.
 * @throws {AppError} 400 for an inactive registration; 422 at 100 waiting redeliveries
 */
export async function redeliverRange(
  { db }: Pick<RedeliveryDeps, 'db'>,
  companyId: number,
  registrationId: number | undefined,
  range: RedeliveryRange,
  alsoCommit: (tx: Db, count: number) => Promise<void> = async () => {},
): Promise<number> {
  const { id } = await getActive(db, companyId, registrationId)
  return await db.begin(async (tx) => {
    await lockRedeliveries(tx, companyId)
    const { found, unclaimed, waiting } = await countFinished(tx, companyId, id, range)
    if (unclaimed > 0) {
      if (waiting >= MOST_WAITING) throw tooManyWait()
      await enqueueRedelivery(tx, companyId, await insertRedelivery(tx, companyId, id, range))
    }
    await alsoCommit(tx, found)
    return found
  })
}

/** Counts the deliveries `redeliverRange` would find. */
export async function countRange(
  { db }: Pick<RedeliveryDeps, 'db'>,
  companyId: number,
  registrationId: number | undefined,
  range: RedeliveryRange,
): Promise<number> {
  const { id } = await getActive(db, companyId, registrationId)
  return (await countFinished(db, companyId, id, range)).found
}

/** Parses a request; `until` defaults to now. */
export function parseRedeliveryRange(
  request: { since: string; until?: string; onlyDeadLettered?: boolean },
  now: Date,
): RedeliveryRange {
  const since = new Date(request.since)
  const until = request.until === undefined ? now : new Date(request.until)
  if (request.until !== undefined && until < since)
    throw validationError([{ path: 'until', message: 'must not be before since' }])
  return { since, until, onlyDeadLettered: request.onlyDeadLettered ?? false }
}

async function getActive(db: Pool, companyId: number, id: number | undefined): Promise<RegistrationRow> {
  const registration = await getRegistrationRow({ db }, companyId, id)
  checkActive(registration)
  return registration
}

function checkActive(registration: RegistrationRow): void {
  if (registration.status !== 'active') throw badRequest('The registration is inactive: activate it first')
}

const tooManyWait = () =>
  validationError([
    {
      path: 'body',
      message: `cannot be kept: ${MOST_WAITING} redeliveries of the company wait already, try again later`,
    },
  ])

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
async function enqueueRedelivery(tx: Db, companyId: number, id: number): Promise<void> {
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
