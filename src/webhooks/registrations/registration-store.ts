import { type Db, sql, type Transaction } from '../../db/connect.ts'
import type { StaticHeader } from '../attempts/delivery-headers.ts'

export type RegistrationStatus = 'active' | 'inactive'
export type DeliveryMethod = 'POST' | 'GET'

export type RegistrationRow = {
  id: number
  name: string
  url: string
  events: string[]
  /** Null: all. */
  channelIds: number[] | null
  status: RegistrationStatus
  method: DeliveryMethod
  ordered: boolean
  staticHeaders: string | null
  secret: string | null
  /** `no_success`: inactive; `backlog`: receives only messages; null: not paused. */
  pausedReason: 'no_success' | 'backlog' | null
  pausedAt: Date | null
  createdAt: Date
}

export type Registration = Omit<RegistrationRow, 'staticHeaders'> & { headers: StaticHeader[] }

export type NewRegistration = Pick<
  RegistrationRow,
  'name' | 'url' | 'events' | 'channelIds' | 'method' | 'staticHeaders' | 'secret'
> & { ordered?: boolean }
type RegistrationChanges = Partial<NewRegistration & Pick<RegistrationRow, 'status'>>

const columns = sql`
  id, name, url, events, channel_ids, status, method, ordered, static_headers, secret, paused_reason, paused_at, created_at
`

/** Returns ids that are not connected numbers of the company. */
export async function findUnknownChannels(db: Db, companyId: number, channelIds: readonly number[]): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select channel.id
    from unnest(${[...channelIds]}::bigint[]) as channel (id)
    where not exists (
      select
      from senders sender
      where (sender.company_id, sender.id) = (${companyId}, channel.id) and sender.deleted_at is null
    )
  `
  return rows.map(({ id }) => id)
}

/** Counts active receivers per company and non-message event. */
export const listSubscribedEvents = (db: Db): Promise<{ companyId: number; event: string; receivers: number }[]> =>
  db<{ companyId: number; event: string; receivers: number }[]>`
    select registration.company_id, named.event, count(*)::integer as receivers
    from registrations registration
    cross join lateral unnest(registration.events) as named (event)
    where registration.status = 'active' and registration.deleted_at is null
      and registration.events <> '{whatsapp.message.received}' and registration.paused_reason is distinct from 'backlog'
    group by registration.company_id, named.event
  `

/** Serializes inserts until the transaction ends. */
export async function lockRegistrations(tx: Transaction, companyId: number): Promise<void> {
  await tx`select pg_advisory_xact_lock(advisory_key('registrations', ${String(companyId)}))`
}

export async function countRegistrations(db: Db, companyId: number): Promise<{ count: number; limit: number }> {
  const [row] = await db<[{ count: number; limit: number }]>`
    select
      company.registration_limit as limit,
      (
        select count(*) from registrations registration
        where registration.company_id = ${companyId} and registration.deleted_at is null
      ) as count
    from companies company
    where company.id = ${companyId}
  `
  return row
}

/** Inserts an active registration; secret and headers must be encrypted. */
export async function insertRegistration(db: Db, companyId: number, fresh: NewRegistration): Promise<RegistrationRow> {
  const [row] = await db<[RegistrationRow]>`
    insert into registrations (company_id, name, url, events, channel_ids, method, ordered, static_headers, secret)
    values (
      ${companyId}, ${fresh.name}, ${fresh.url}, ${fresh.events}, ${fresh.channelIds},
      ${fresh.method}, ${fresh.ordered ?? false}, ${fresh.staticHeaders}, ${fresh.secret}
    )
    returning ${columns}
  `
  return row
}

export async function findRegistration(
  db: Db,
  companyId: number,
  id: number,
  lock?: 'for update',
): Promise<RegistrationRow | undefined> {
  const [row] = await db<RegistrationRow[]>`
    select ${columns}
    from registrations
    where company_id = ${companyId} and id = ${id} and deleted_at is null
    ${lock === undefined ? sql`` : sql`for update`}
  `
  return row
}

export async function listRegistrations(db: Db, companyId: number): Promise<RegistrationRow[]> {
  return await db<RegistrationRow[]>`
    select ${columns}
    from registrations
    where company_id = ${companyId} and deleted_at is null
    order by id
  `
}

/** Null removes the secret. The row lock waits for attempts being started; none can start after the commit. */
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
      channel_ids = case
        when ${changes.channelIds !== undefined} then ${changes.channelIds ?? null}::bigint[] else channel_ids
      end,
      status = coalesce(${changes.status ?? null}, status),
      active_since = case when ${changes.status ?? null} = 'active' and status <> 'active' then now() else active_since end,
      paused_reason = case when ${changes.status === undefined} then paused_reason end,
      paused_at = case when ${changes.status === undefined} then paused_at end,
      method = coalesce(${changes.method ?? null}, method),
      ordered = coalesce(${changes.ordered ?? null}, ordered),
      static_headers = case
        when ${changes.staticHeaders !== undefined} then ${changes.staticHeaders ?? null} else static_headers
      end,
      secret = case when ${changes.secret !== undefined} then ${changes.secret ?? null} else secret end,
      updated_at = now()
    where company_id = ${companyId} and id = ${id} and deleted_at is null
    returning ${columns}
  `
  return row
}

/** Soft-deletes a registration, keeping its log but not its credentials. */
export async function markRegistrationDeleted(db: Db, companyId: number, id: number): Promise<boolean> {
  const { count } = await db`
    update registrations
    set deleted_at = now(), updated_at = now(), secret = null, static_headers = null
    where company_id = ${companyId} and id = ${id} and deleted_at is null
  `
  return count > 0
}
