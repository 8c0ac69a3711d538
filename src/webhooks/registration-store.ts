import type { Db } from '../db/connect.ts'
import type { StaticHeader } from './static-header.ts'

export type RegistrationStatus = 'active' | 'inactive'
export type DeliveryMethod = 'POST' | 'GET'

export type Registration = {
  id: number
  name: string
  url: string
  events: string[]
  status: RegistrationStatus
  method: DeliveryMethod
  headers: StaticHeader[]
  /** Encrypted; null: deliveries are not signed. */
  secret: string | null
  createdAt: Date
}

export type NewRegistration = Pick<Registration, 'name' | 'url' | 'events' | 'method' | 'headers' | 'secret'>
export type RegistrationChanges = Partial<NewRegistration & Pick<Registration, 'status'>>

export async function insertRegistration(db: Db, companyId: number, fresh: NewRegistration): Promise<Registration> {
  const [row] = await db<[Registration]>`
    insert into registrations (company_id, name, url, events, method, headers, secret)
    values (
      ${companyId}, ${fresh.name}, ${fresh.url}, ${fresh.events}, ${fresh.method},
      ${db.json(fresh.headers)}, ${fresh.secret}
    )
    returning id, name, url, events, status, method, headers, secret, created_at
  `
  return row
}

export async function findRegistration(db: Db, companyId: number, id: number): Promise<Registration | undefined> {
  const [row] = await db<Registration[]>`
    select id, name, url, events, status, method, headers, secret, created_at
    from registrations
    where company_id = ${companyId} and id = ${id} and deleted_at is null
  `
  return row
}

export async function listRegistrations(db: Db, companyId: number): Promise<Registration[]> {
  return await db<Registration[]>`
    select id, name, url, events, status, method, headers, secret, created_at
    from registrations
    where company_id = ${companyId} and deleted_at is null
    order by id
  `
}

/**
 * Changes only what is given; `secret: null` removes the secret. Its row lock waits for attempts that are just
 * beginning (`beginAttempts`), so that none begins once this has committed.
 */
export async function updateRegistrationRow(
  db: Db,
  companyId: number,
  id: number,
  changes: RegistrationChanges,
): Promise<Registration | undefined> {
  const [row] = await db<Registration[]>`
    update registrations
    set
      name = coalesce(${changes.name ?? null}, name),
      url = coalesce(${changes.url ?? null}, url),
      events = coalesce(${changes.events ?? null}, events),
      status = coalesce(${changes.status ?? null}, status),
      method = coalesce(${changes.method ?? null}, method),
      headers = coalesce(${changes.headers === undefined ? null : db.json(changes.headers)}, headers),
      secret = case when ${changes.secret !== undefined} then ${changes.secret ?? null} else secret end,
      updated_at = now()
    where company_id = ${companyId} and id = ${id} and deleted_at is null
    returning id, name, url, events, status, method, headers, secret, created_at
  `
  return row
}

/** Soft: the logs' rows stay, the receiver's credentials do not. False when there was nothing to delete. */
export async function markRegistrationDeleted(db: Db, companyId: number, id: number): Promise<boolean> {
  const { count } = await db`
    update registrations
    set deleted_at = now(), updated_at = now(), secret = null, headers = '[]'
    where company_id = ${companyId} and id = ${id} and deleted_at is null
  `
  return count > 0
}
