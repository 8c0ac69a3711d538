import { type Db, sql } from '../db/connect.ts'
import type { PhoneCountry } from '../platform/text/phone-reading.ts'

/** A company of this installation: no other company sees its data. */
export type Company = {
  readonly id: number
  readonly name: string
  /** Requests per minute that all its keys may make together. */
  readonly rateLimitPerMinute: number
  /** Whether customers see in WhatsApp that an agent reads and writes in the console. */
  readonly readReceipts: boolean
  /** Country whose national phone numbers its contacts are written with; null: all have their country code. */
  readonly defaultCountry: PhoneCountry | null
  /** Webhook registrations that it may have. */
  readonly registrationLimit: number
  /** Requests per minute that its console sessions may make together. */
  readonly sessionRateLimitPerMinute: number
  /** Whether console sessions with the role agent may erase contacts. */
  readonly agentsMayErase: boolean
  readonly createdAt: Date
}

type CompanyValues = {
  name: string
  rateLimitPerMinute: number
  readReceipts: boolean
  registrationLimit: number
  sessionRateLimitPerMinute: number
  agentsMayErase: boolean
}
type NullableValues = { defaultCountry: PhoneCountry | null }

const columns = sql`
  id, name, rate_limit_per_minute, read_receipts, default_country, registration_limit,
  session_rate_limit_per_minute, agents_may_erase, created_at
`

/** Inserts a company in the range of ids of this installation (CELL) and returns it. */
export async function insertCompany(db: Db, values: CompanyValues & NullableValues): Promise<Company> {
  const [company] = await db<[Company]>`
    insert into companies (
      name, rate_limit_per_minute, read_receipts, default_country, registration_limit, session_rate_limit_per_minute,
      agents_may_erase
    )
    values (
      ${values.name}, ${values.rateLimitPerMinute}, ${values.readReceipts}, ${values.defaultCountry},
      ${values.registrationLimit}, ${values.sessionRateLimitPerMinute}, ${values.agentsMayErase}
    )
    returning ${columns}`
  return company
}

/** All companies that are not deleted, by id. */
export const selectCompanies = (db: Db): Promise<Company[]> => db<Company[]>`
  select ${columns}
  from companies
  where deleted_at is null
  order by id`

/** The company with this id; undefined when there is none, or it is deleted. */
export async function findCompany(db: Db, companyId: number): Promise<Company | undefined> {
  const [company] = await db<Company[]>`
    select ${columns}
    from companies
    where id = ${companyId}
      and deleted_at is null`
  return company
}

/** Updates the members that are not null, and the default country if it is there; undefined when there is no such living company. */
export async function updateCompanyRow(
  db: Db,
  companyId: number,
  change: { [Column in keyof CompanyValues]: CompanyValues[Column] | null } & Partial<NullableValues>,
): Promise<Company | undefined> {
  const [company] = await db<Company[]>`
    update companies
    set name = coalesce(${change.name}, name),
        rate_limit_per_minute = coalesce(${change.rateLimitPerMinute}, rate_limit_per_minute),
        read_receipts = coalesce(${change.readReceipts}, read_receipts),
        registration_limit = coalesce(${change.registrationLimit}, registration_limit),
        session_rate_limit_per_minute =
          coalesce(${change.sessionRateLimitPerMinute}, session_rate_limit_per_minute),
        agents_may_erase = coalesce(${change.agentsMayErase}, agents_may_erase)
        ${change.defaultCountry === undefined ? sql`` : sql`, default_country = ${change.defaultCountry}`}
    where id = ${companyId}
      and deleted_at is null
    returning ${columns}`
  return company
}

/** Marks a company as deleted; false when there is no such living company. */
export async function markCompanyRemoved(db: Db, companyId: number): Promise<boolean> {
  const removed = await db`
    update companies
    set deleted_at = now()
    where id = ${companyId}
      and deleted_at is null`
  return removed.count > 0
}
