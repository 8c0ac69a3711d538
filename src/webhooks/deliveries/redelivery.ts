import type { Db, Pool } from '../../db/connect.ts'
import { badRequest, deliveryLogNotFound, validationError } from '../../errors.ts'
import { getRegistrationRow } from '../registrations/registration.ts'
import type { RegistrationRow } from '../registrations/registration-store.ts'
import { findLoggedDelivery } from './log/delivery-log-store.ts'
import { countFinished, type RedeliveryRange, renewDeliveries, renewDelivery } from './redelivery-store.ts'

const BATCH = 1_000

export type RedeliveryDeps = {
  db: Pool
  /** Called after the commit of deliveries of a company that are due again. */
  onEnqueued: (companyId: number) => void
}

/**
 * Enqueues the delivery of one log row again: same body, same delivery id, five new attempts. One that is still being
 * tried stays as it is.
 */
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

/** How far a range has been enqueued again: the id after which the next batch begins, and how many deliveries so far. */
export type RangeProgress = { until: string; count: number; cursor: number | null }

/**
 * Enqueues again every finished delivery of a registration made from `since` until before `until`; returns how many.
 * Each batch of 1,000 is a transaction, in which `alsoCommit` runs last. An interrupted call continues after its last batch when
 * it is repeated with the progress of that batch. A null cursor says that nothing is left.
 */
export async function redeliverRange(
  { db, onEnqueued }: RedeliveryDeps,
  companyId: number,
  registrationId: number | undefined,
  range: RedeliveryRange,
  earlier: RangeProgress | null = null,
  alsoCommit: (tx: Db, progress: RangeProgress) => Promise<void> = async () => {},
): Promise<number> {
  const registration = await getRegistrationRow({ db }, companyId, registrationId)
  checkActive(registration)
  const until = earlier === null ? range.until : new Date(earlier.until)
  let progress: RangeProgress = earlier ?? { until: until.toISOString(), count: 0, cursor: null }
  do {
    const { count, cursor } = progress
    progress = await db.begin(async (tx) => {
      const step = await renewDeliveries(
        tx,
        companyId,
        registration.id,
        { ...range, until },
        cursor ?? undefined,
        BATCH,
      )
      const next = { until: until.toISOString(), count: count + step.count, cursor: step.next ?? null }
      await alsoCommit(tx, next)
      return next
    })
    onEnqueued(companyId)
  } while (progress.cursor !== null)
  return progress.count
}

/** How many deliveries `redeliverRange` would enqueue; it changes nothing. */
export async function countRange(
  { db }: RedeliveryDeps,
  companyId: number,
  registrationId: number | undefined,
  range: RedeliveryRange,
): Promise<number> {
  const registration = await getRegistrationRow({ db }, companyId, registrationId)
  checkActive(registration)
  return countFinished(db, companyId, registration.id, range)
}

/** Reads a range from a request; `until` is now when it is absent. */
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

/** Deliveries to an inactive registration would be skipped at once: better to say so. */
function checkActive(registration: RegistrationRow): void {
  if (registration.status !== 'active') throw badRequest('The registration is inactive: activate it first')
}
