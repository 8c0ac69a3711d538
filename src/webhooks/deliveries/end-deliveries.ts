import { Gauge, type Registry } from 'prom-client'
import type { Db, Pool } from '../../db/connect.ts'
import type { Clock } from '../../platform/clock.ts'
import type { PartitionRange } from '../../queue/job-table.ts'
import { expiredMessage } from '../attempts/schedule.ts'
import {
  countPaused,
  listQuiet,
  type PauseFacts,
  pauseRegistration,
  storeLastAttempts,
} from '../registrations/registration-health-store.ts'
import { openDays } from './delivery-days.ts'
import { releaseHeldBack } from './delivery-order-store.ts'
import type { DeliveryRef } from './delivery-store.ts'

/** Up to 100,000 deliveries per run, every 30 s. */
const BATCH = 1_000
const MOST_BATCHES = 100

/** Pauses a registration after 5 days without success and 100 dead letters. */
const QUIET_MS = 5 * 24 * 3_600_000
const DEAD_LETTERS = 100

export type EndDeps = {
  db: Pool
  clock: Clock
  deadlineHours: number
  onExpired(deliveries: readonly DeliveryRef[]): void
  onPaused(paused: Pick<PauseFacts, 'companyId' | 'id'>): void
}

/** Dead-letters expired deliveries and pauses registrations with a dead receiver (decisions: Deliveries). */
export async function endDeliveries(deps: EndDeps, signal: AbortSignal): Promise<void> {
  await storeLastAttempts(deps.db)
  await expire(deps, signal)
  await release(deps, signal)
  await pauseDead(deps)
}

async function expire({ db, deadlineHours, onExpired }: EndDeps, signal: AbortSignal): Promise<void> {
  const message = expiredMessage(deadlineHours)
  for (let batches = 0; batches < MOST_BATCHES && !signal.aborted; batches += 1) {
    const expired = await expireDeliveries(db, deadlineHours * 3_600_000, message, BATCH)
    if (expired.length > 0) onExpired(expired)
    if (expired.length < BATCH) return
  }
}

async function release({ db }: EndDeps, signal: AbortSignal): Promise<void> {
  for (let batches = 0; batches < MOST_BATCHES && !signal.aborted; batches += 1) {
    if ((await releaseHeldBack(db, BATCH)) < BATCH) return
  }
}

async function pauseDead({ db, clock, onPaused }: EndDeps): Promise<void> {
  const now = clock.now()
  for (const facts of await listQuiet(db, new Date(now.getTime() - QUIET_MS), DEAD_LETTERS)) {
    const { companyId, id, quietSince } = facts
    if (!shouldPause(facts, now)) continue
    if (await pauseRegistration(db, companyId, id, 'no_success', quietSince)) onPaused({ companyId, id })
  }
}

export const shouldPause = ({ quietSince, deadLetters }: Omit<PauseFacts, 'companyId' | 'id'>, now: Date): boolean =>
  now.getTime() - quietSince.getTime() >= QUIET_MS && deadLetters >= DEAD_LETTERS

export function registerPausedGauge(registry: Registry, db: Db): void {
  new Gauge({
    name: 'parley_registrations_paused',
    help: 'Webhook registrations that are paused: inactive after days without a success, or without events for their backlog',
    registers: [registry],
    aggregator: 'max',
    async collect() {
      this.set(await countPaused(db))
    },
  })
}

/** Dead-letters and logs up to `limit` expired deliveries, except leased ones and those of locked companies. */
export async function expireDeliveries(
  db: Pool,
  deadlineMs: number,
  message: string,
  limit: number,
): Promise<DeliveryRef[]> {
  const days = await openDays(db)
  return await db.begin(async (tx) => {
    const late = await lockLate(tx, deadlineMs, days, limit)
    return late.length === 0 ? [] : await endLocked(tx, late, message)
  })
}

type Late = { companyId: number; id: number; day: number }

const lockLate = (tx: Db, deadlineMs: number, { first, last }: PartitionRange, limit: number) => tx<Late[]>`
  with cutoff as materialized (
    select deadline.at, (deadline.at at time zone 'UTC')::date - date '1970-01-01' as day
    from (select now() - ${deadlineMs} * interval '1 ms' as at) as deadline
  )
  select delivery.company_id, delivery.id, delivery.day
  from registrations registration
  join companies company on company.id = registration.company_id and company.closed_at is null
  cross join lateral (
    select pending.company_id, pending.id, pending.day
    from deliveries pending
    where pending.company_id = registration.company_id and pending.registration_id = registration.id
      and pending.status = 'pending' and pending.claim_id is null
      and pending.day between ${first}::integer and ${last}::integer
      -- ids are time-ordered, give or take one transaction
      and pending.id < (select delivery_id_at(cutoff.day, cutoff.at + interval '1 minute') from cutoff)
      and coalesce(pending.renewed_at, pending.created_at) < (select at from cutoff)
    order by pending.id
    limit ${limit}
    for update of pending skip locked
  ) as delivery
  limit ${limit}
`

/** Must be a separate statement: locked rows need no recheck (docs/decisions/0016). */
const endLocked = (tx: Db, late: readonly Late[], message: string) => tx<DeliveryRef[]>`
  with ended as (
    update deliveries delivery
    set status = 'dead', finished_at = clock_timestamp(), failed_at = null
    from unnest(${late.map(({ companyId }) => companyId)}::bigint[], ${late.map(({ id }) => id)}::bigint[]) as late (company_id, id)
    where (delivery.company_id, delivery.id) = (late.company_id, late.id) and delivery.status = 'pending'
      and delivery.day between ${Math.min(...late.map(({ day }) => day))}::integer
        and ${Math.max(...late.map(({ day }) => day))}::integer
    returning delivery.company_id, delivery.registration_id, delivery.id, delivery.round, delivery.attempts
  ),
  logged as (
    insert into delivery_attempts (
      company_id, registration_id, delivery_id, round, attempt, error_message, duration_ms, dead_lettered, sent_at
    )
    select
      ended.company_id, ended.registration_id, ended.id, ended.round, ended.attempts + 1, ${message}, 0, true,
      date_trunc('milliseconds', clock_timestamp())
    from ended
    order by ended.id
  )
  select ended.company_id, ended.id as delivery_id, ended.registration_id from ended
`
