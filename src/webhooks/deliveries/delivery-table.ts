import type { JobTable } from '../../queue/job-table.ts'
import { openDays } from './days/delivery-day-store.ts'

/** The kind of job that makes a delivery's attempts: one row of `deliveries`. */
export const DELIVER = 'webhook.deliver'

/** An id of a delivery or a log entry is the days since 1970 times this, and a number. */
export const IDS_A_DAY = 1_000_000_000

export const dayOfId = (id: number): number => Math.floor(id / IDS_A_DAY)

/** Deliveries as leased jobs. One that ends without an attempt is skipped. */
export const DELIVERIES: JobTable = {
  name: 'deliveries',
  kind: `'${DELIVER}'`,
  isOfKind: (kind) => `${kind} = '${DELIVER}'`,
  isOpen: "job.status = 'pending' and job.failed_at is null and job.waits_for is null",
  subject: 'job.id',
  failures: 'faults',
  finish:
    "update deliveries job set status = 'skipped', finished_at = clock_timestamp(), claim_id = null, lease_until = null",
  // A due retry goes before a first attempt, so that the waits of the schedule hold under any load.
  ranks: ['least(job.attempts, 1) = 1', 'least(job.attempts, 1) = 0'],
  order: 'job.lane, least(job.attempts, 1) desc, job.due_at, job.id',
  isWithin: (first, last) => `job.day between ${first} and ${last}`,
  partitionOf: dayOfId,
  openPartitions: openDays,
}

/** The lane of a registration: two companies may have registrations of the same id. */
export const deliveryLaneOf = (companyId: number, registrationId: number): string => `${companyId}.${registrationId}`
