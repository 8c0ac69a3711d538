import type { Db, Pool } from '../../db/connect.ts'
import { createCache } from '../../platform/cache.ts'
import { MESSAGE_RECEIVED } from '../events/message-received.ts'

/** Recounts after a quarter of the remaining room, to keep four processes within the bound. */
const RECOUNTS = 4
const LEAST_ADDED = 20
/** By then, most transactions have committed. */
const COUNT_AFTER_MS = 1_000
const MOST_REMEMBERED = 10_000

type BacklogDeps = {
  db: Pool
  /** Non-message deliveries per company. */
  most: number
  onPaused(companyId: number, registrationIds: readonly number[]): void
  onResumed(companyId: number): void
  onFailure(error: unknown): void
}

export type BacklogGuard = {
  added(companyId: number, deliveries: number): void
  /** Joins a running count. */
  check(companyId: number): Promise<void>
  resume(): Promise<void>
}

/** Bounds backlogs (decisions: What one caller may cost). Counts the table only near the bound: events cost no statement. */
export function createBacklogGuard({ db, most, onPaused, onResumed, onFailure }: BacklogDeps): BacklogGuard {
  const left = createCache<number, { count: number }>({ name: 'webhook_backlogs', max: MOST_REMEMBERED })
  const running = new Map<number, Promise<void>>()
  const scheduled = new Set<number>()

  const count = async (companyId: number): Promise<void> => {
    const backlogs = await listBacklogs(db, companyId, most + 1)
    left.set(companyId, { count: Math.max((most - totalOf(backlogs)) / RECOUNTS, most / LEAST_ADDED) })
    const paused = await pauseForBacklog(db, companyId, toPause(backlogs, most))
    if (paused.length > 0) onPaused(companyId, paused)
  }
  const check = (companyId: number): Promise<void> => {
    const counting = running.get(companyId) ?? count(companyId).finally(() => running.delete(companyId))
    running.set(companyId, counting)
    return counting
  }

  return {
    added: (companyId, deliveries) => {
      const rest = left.get(companyId, () => ({ count: 0 }))
      rest.count -= deliveries
      if (rest.count > 0 || deliveries === 0 || scheduled.has(companyId)) return
      scheduled.add(companyId)
      setTimeout(() => {
        scheduled.delete(companyId)
        check(companyId).catch(onFailure)
      }, COUNT_AFTER_MS).unref()
    },
    check,
    resume: async () => {
      for (const companyId of await listPausedCompanies(db)) {
        const backlogs = await listBacklogs(db, companyId, most + 1)
        if (totalOf(backlogs) <= most / 2 && (await resumeAfterBacklog(db, companyId)) > 0) onResumed(companyId)
      }
    },
  }
}

/** Returns registrations above an equal share of the bound. */
export function toPause(backlogs: readonly RegistrationBacklog[], most: number): number[] {
  if (totalOf(backlogs) <= most) return []
  return backlogs.filter(({ waiting, isPaused }) => !isPaused && waiting > most / backlogs.length).map(({ id }) => id)
}

const totalOf = (backlogs: readonly RegistrationBacklog[]): number =>
  backlogs.reduce((sum, { waiting }) => sum + waiting, 0)

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
