import { type Db, sql } from '../../db/connect.ts'

export type RegistrationHealth = {
  lastSuccessAt: Date | null
  lastFailureAt: Date | null
  /** Within seven days, up to 1,000. */
  consecutiveFailures: number
  /** Up to 10,000. */
  waiting: number
  /** Up to 10,000. */
  deadLettered24h: number
}

const READ_DAYS = 7
const MOST_FAILURES = 1_000
const MOST_COUNTED = 10_000

/** Reads health by id, from indexes only: deliveries write no counters. */
export async function readHealth(db: Db, companyId: number, id?: number): Promise<Map<number, RegistrationHealth>> {
  const rows = await db<(RegistrationHealth & { id: number })[]>`
    select
      registration.id, latest.success_at as last_success_at, latest.failure_at as last_failure_at,
      (
        select count(*)
        from (
          select
          from delivery_attempts attempt
          where attempt.company_id = ${companyId} and attempt.registration_id = registration.id
            and attempt.error_message is not null and attempt.sent_at > coalesce(latest.success_at, '-infinity')
            and attempt.day >= today.day - ${READ_DAYS}
          limit ${MOST_FAILURES}
        ) as counted
      ) as consecutive_failures,
      (
        select count(*)
        from (
          select
          from deliveries delivery
          where delivery.company_id = ${companyId} and delivery.registration_id = registration.id
            and delivery.status = 'pending'
          limit ${MOST_COUNTED}
        ) as counted
      ) as waiting,
      (
        select count(*)
        from (
          select
          from delivery_attempts attempt
          where attempt.company_id = ${companyId} and attempt.registration_id = registration.id
            and attempt.dead_lettered and attempt.sent_at > now() - interval '24 hours' and attempt.day >= today.day - 1
          limit ${MOST_COUNTED}
        ) as counted
      ) as dead_lettered24h
    from registrations registration
    cross join (select (now() at time zone 'UTC')::date - date '1970-01-01' as day) as today
    cross join lateral (${latestAttempts(READ_DAYS)}) as latest
    where registration.company_id = ${companyId} and registration.deleted_at is null
      ${id === undefined ? sql`` : sql`and registration.id = ${id}`}
    order by registration.id
  `
  return new Map(rows.map(({ id, ...health }) => [id, health]))
}

const latestAttempts = (days: number) => sql`
  select
    greatest(
      registration.last_success_at,
      (
        select delivery.sent_at
        from deliveries delivery
        where delivery.company_id = registration.company_id and delivery.registration_id = registration.id
          and delivery.sent_at is not null and delivery.day >= today.day - ${days}::integer
        order by delivery.sent_at desc, delivery.id desc
        limit 1
      ),
      (
        select attempt.sent_at
        from delivery_attempts attempt
        where attempt.company_id = registration.company_id and attempt.registration_id = registration.id
          and attempt.error_message is null and attempt.day >= today.day - ${days}::integer
        order by attempt.sent_at desc, attempt.id desc
        limit 1
      )
    ) as success_at,
    greatest(
      registration.last_failure_at,
      (
        select attempt.sent_at
        from delivery_attempts attempt
        where attempt.company_id = registration.company_id and attempt.registration_id = registration.id
          and attempt.error_message is not null and attempt.day >= today.day - ${days}::integer
        order by attempt.sent_at desc, attempt.id desc
        limit 1
      )
    ) as failure_at
`

/** Stores times changed by over a minute. Must run often, before the log's days are dropped. */
export async function storeLastAttempts(db: Db): Promise<number> {
  const { count } = await db`
    with changed as materialized (
      select registration.company_id, registration.id, latest.success_at, latest.failure_at
      from registrations registration
      cross join (select (now() at time zone 'UTC')::date - date '1970-01-01' as day) as today
      cross join lateral (${latestAttempts(1)}) as latest
      where registration.deleted_at is null
        and (
          latest.success_at > coalesce(registration.last_success_at, '-infinity') + interval '1 minute'
          or latest.failure_at > coalesce(registration.last_failure_at, '-infinity') + interval '1 minute'
        )
      order by registration.company_id, registration.id
      for no key update of registration skip locked
    )
    update registrations registration
    set last_success_at = changed.success_at, last_failure_at = changed.failure_at
    from changed
    where (registration.company_id, registration.id) = (changed.company_id, changed.id)
  `
  return count
}

export type PauseFacts = {
  companyId: number
  id: number
  /** Active without success since then. */
  quietSince: Date
  deadLetters: number
}

/** Lists active registrations without success since a time; `most` caps the dead letters counted. */
export async function listQuiet(db: Db, since: Date, most: number): Promise<PauseFacts[]> {
  return await db<PauseFacts[]>`
    select
      registration.company_id, registration.id, quiet.since as quiet_since,
      (
        select count(*)
        from (
          select
          from delivery_attempts attempt
          where attempt.company_id = registration.company_id and attempt.registration_id = registration.id
            and attempt.dead_lettered and attempt.sent_at > quiet.since
          limit ${most}
        ) as counted
      ) as dead_letters
    from registrations registration
    cross join (select (now() at time zone 'UTC')::date - date '1970-01-01' as day) as today
    cross join lateral (${latestAttempts(1)}) as latest
    cross join lateral (select greatest(registration.active_since, latest.success_at) as since) as quiet
    where registration.status = 'active' and registration.deleted_at is null and registration.active_since <= ${since}
      and quiet.since <= ${since}
    order by registration.company_id, registration.id
  `
}

/** Pauses a registration, unless activated meanwhile. */
export async function pauseRegistration(
  db: Db,
  companyId: number,
  id: number,
  reason: 'no_success',
  quietSince: Date,
): Promise<boolean> {
  const { count } = await db`
    update registrations
    set status = 'inactive', paused_reason = ${reason}, paused_at = now(), updated_at = now()
    where company_id = ${companyId} and id = ${id} and status = 'active' and deleted_at is null
      and date_trunc('milliseconds', active_since) <= ${quietSince}
  `
  return count > 0
}

export async function countPaused(db: Db): Promise<number> {
  const [row] = await db<[{ count: number }]>`
    select count(*) from registrations where paused_at is not null and deleted_at is null
  `
  return row.count
}
