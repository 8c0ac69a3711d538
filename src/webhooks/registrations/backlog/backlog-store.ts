import type { Db } from '../../../db/connect.ts'
import { MESSAGE_RECEIVED } from '../../events/message-received.ts'

/** Waiting deliveries of events other than messages at an active registration. */
export type RegistrationBacklog = { id: number; waiting: number; isPaused: boolean }

/** The backlogs of the company's active registrations, each counted up to `most`. */
export async function listBacklogs(db: Db, companyId: number, most: number): Promise<RegistrationBacklog[]> {
  return await db<RegistrationBacklog[]>`
    select
      registration.id, registration.paused_reason is not null as is_paused,
      (
        select count(*)
        from (
          select
          from deliveries delivery
          where delivery.company_id = ${companyId} and delivery.registration_id = registration.id
            and delivery.status = 'pending' and delivery.event <> ${MESSAGE_RECEIVED}
          limit ${most}
        ) as counted
      ) as waiting
    from registrations registration
    where registration.company_id = ${companyId} and registration.deleted_at is null and registration.status = 'active'
      and registration.events <> ${[MESSAGE_RECEIVED]}::text[]
    order by registration.id
  `
}

/** Stops events other than messages at active registrations; returns the ids of those that got them until now. */
export async function pauseForBacklog(db: Db, companyId: number, ids: readonly number[]): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    update registrations
    set paused_reason = 'backlog', paused_at = now(), updated_at = now()
    where company_id = ${companyId} and id = any (${[...ids]}::bigint[]) and status = 'active' and deleted_at is null
      and paused_at is null
    returning id
  `
  return rows.map(({ id }) => id)
}

/** Companies with registrations whose events have been stopped for their backlog. */
export async function listPausedCompanies(db: Db): Promise<number[]> {
  const rows = await db<{ companyId: number }[]>`
    select distinct company_id
    from registrations
    where paused_reason = 'backlog' and deleted_at is null
    order by company_id
  `
  return rows.map(({ companyId }) => companyId)
}

/** Delivers all events again to the company's registrations that were stopped for their backlog; returns how many these were. */
export async function resumeAfterBacklog(db: Db, companyId: number): Promise<number> {
  const { count } = await db`
    update registrations
    set paused_reason = null, paused_at = null, updated_at = now()
    where company_id = ${companyId} and paused_reason = 'backlog' and deleted_at is null
  `
  return count
}
