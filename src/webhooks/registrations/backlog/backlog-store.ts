import type { Db } from '../../../db/connect.ts'
import { MESSAGE_RECEIVED } from '../../events/message-received.ts'

export type RegistrationBacklog = { id: number; waiting: number; isPaused: boolean }

/** Counts the backlogs of active registrations, each up to `most`. */
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

/** Pauses non-message events; returns the newly paused registrations. */
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

/** Lists companies with registrations paused for backlog. */
export async function listPausedCompanies(db: Db): Promise<number[]> {
  const rows = await db<{ companyId: number }[]>`
    select distinct company_id
    from registrations
    where paused_reason = 'backlog' and deleted_at is null
    order by company_id
  `
  return rows.map(({ companyId }) => companyId)
}

export async function resumeAfterBacklog(db: Db, companyId: number): Promise<number> {
  const { count } = await db`
    update registrations
    set paused_reason = null, paused_at = null, updated_at = now()
    where company_id = ${companyId} and paused_reason = 'backlog' and deleted_at is null
  `
  return count
}
