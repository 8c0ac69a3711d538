import type { JobTable } from '../../queue/job-table.ts'
import { openDays } from './days/delivery-day-store.ts'

export const DELIVER = 'webhook.deliver'

/** Ids of deliveries and log entries: days since 1970 times this, plus a number. */
export const IDS_A_DAY = 1_000_000_000

const DAY_MS = 86_400_000

/** Returns the day since 1970, in UTC. */
export const dayOf = (at: Date): number => Math.floor(at.getTime() / DAY_MS)

export const dayOfId = (id: number): number => Math.floor(id / IDS_A_DAY)

export const DELIVERIES: JobTable = {
  name: 'deliveries',
  kind: `'${DELIVER}'`,
  isOfKind: (kind) => `${kind} = '${DELIVER}'`,
  isOpen: "job.status = 'pending' and job.failed_at is null and job.waits_for is null",
  subject: 'job.id',
  failures: 'faults',
  finish:
    "update deliveries job set status = 'skipped', finished_at = clock_timestamp(), claim_id = null, lease_until = null",
  // Due retries run first, to keep the retry schedule under any load.
  ranks: ['least(job.attempts, 1) = 1', 'least(job.attempts, 1) = 0'],
  order: 'job.lane, least(job.attempts, 1) desc, job.due_at, job.id',
  isWithin: (first, last) => `job.day between ${first} and ${last}`,
  partitionOf: dayOfId,
  openPartitions: openDays,
}

export const deliveryLaneOf = (companyId: number, registrationId: number): string => `${companyId}.${registrationId}`
