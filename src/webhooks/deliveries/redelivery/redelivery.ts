import type { Db, Pool } from '../../../db/connect.ts'
import { badRequest, deliveryLogNotFound, validationError } from '../../../platform/errors.ts'
import { getRegistrationRow } from '../../registrations/registration.ts'
import type { RegistrationRow } from '../../registrations/registration-store.ts'
import { findLoggedDelivery } from '../log/delivery-log-store.ts'
import { enqueueRedelivery } from './redelivery-job.ts'
import {
  countFinished,
  insertRedelivery,
  lockRedeliveries,
  type RedeliveryRange,
  renewDelivery,
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
