import type { Db } from '../db/connect.ts'

export type RegistrationStatus = 'active' | 'inactive'
export type DeliveryMethod = 'POST' | 'GET'

/** A registration as it is stored: its credentials are encrypted. */
export type RegistrationRow = {
  id: number
  name: string
  url: string
  events: string[]
  status: RegistrationStatus
  method: DeliveryMethod
  /** Encrypted; null: none. */
  staticHeaders: string | null
  /** Encrypted; null: deliveries are not signed. */
  secret: string | null
  createdAt: Date
}

export type NewRegistration = Pick<RegistrationRow, 'name' | 'url' | 'events' | 'method' | 'staticHeaders' | 'secret'>
export type RegistrationChanges = Partial<NewRegistration & Pick<RegistrationRow, 'status'>>

/** Adds an active registration. Secret and credentials are encrypted before they come here. */
export async function insertRegistration(db: Db, companyId: number, fresh: NewRegistration): Promise<RegistrationRow> {
  const [row] = await db<[RegistrationRow]>`
    insert into registrations (company_id, name, url, events, method, static_headers, secret)
    values (
      ${companyId}, ${fresh.name}, ${fresh.url}, ${fresh.events}, ${fresh.method},
      ${fresh.staticHeaders}, ${fresh.secret}
    )
    returning id, name, url, events, status, method, static_headers, secret, created_at
  `
  return row
}

/** The registration with this id; undefined when the company has none, or has deleted it. */
export async function findRegistration(db: Db, companyId: number, id: number): Promise<RegistrationRow | undefined> {
  const [row] = await db<RegistrationRow[]>`
    select id, name, url, events, status, method, static_headers, secret, created_at
    from registrations
    where company_id = ${companyId} and id = ${id} and deleted_at is null
  `
  return row
}

/** The company's registrations that are not deleted, oldest first. */
export async function listRegistrations(db: Db, companyId: number): Promise<RegistrationRow[]> {
  return await db<RegistrationRow[]>`
    select id, name, url, events, status, method, static_headers, secret, created_at
    from registrations
    where company_id = ${companyId} and deleted_at is null
    order by id
  `
}

/**
 * Changes only what is given; `secret: null` removes the secret. Its row lock waits for attempts that are just
 * beginning (`startAttempts`), so that none begins once this has committed.
 */
export async function updateRegistrationRow(
  db: Db,
  companyId: number,
  id: number,
  changes: RegistrationChanges,
): Promise<RegistrationRow | undefined> {
  const [row] = await db<RegistrationRow[]>`
    update registrations
    set
      name = coalesce(${changes.name ?? null}, name),
      url = coalesce(${changes.url ?? null}, url),
      events = coalesce(${changes.events ?? null}, events),
      status = coalesce(${changes.status ?? null}, status),
      method = coalesce(${changes.method ?? null}, method),
      static_headers = case
        when ${changes.staticHeaders !== undefined} then ${changes.staticHeaders ?? null} else static_headers
      end,
      secret = case when ${changes.secret !== undefined} then ${changes.secret ?? null} else secret end,
      updated_at = now()
    where company_id = ${companyId} and id = ${id} and deleted_at is null
    returning id, name, url, events, status, method, static_headers, secret, created_at
  `
  return row
}

/** Deletes a registration softly: its log stays, the receiver's credentials do not. False when the company has no such one. */
export async function markRegistrationDeleted(db: Db, companyId: number, id: number): Promise<boolean> {
  const { count } = await db`
    update registrations
    set deleted_at = now(), updated_at = now(), secret = null, static_headers = null
    where company_id = ${companyId} and id = ${id} and deleted_at is null
  `
  return count > 0
}
