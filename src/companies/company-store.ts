import { type Db, sql } from '../db/connect.ts'
import type { PhoneCountry } from '../platform/text/phone.ts'

export type Company = {
  readonly id: number
  readonly name: string
  readonly rateLimitPerMinute: number
  /** Whether the console sends read receipts and typing indicators to WhatsApp. */
  readonly readReceipts: boolean
  readonly defaultCountry: PhoneCountry | null
  readonly registrationLimit: number
  readonly sessionRateLimitPerMinute: number
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

/** Inserts a company with an id from the range of this installation (CELL). */
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

export const selectCompanies = (db: Db): Promise<Company[]> => db<Company[]>`
  select ${columns}
  from companies
  where deleted_at is null
  order by id`

export async function findCompany(db: Db, companyId: number): Promise<Company | undefined> {
  const [company] = await db<Company[]>`
    select ${columns}
    from companies
    where id = ${companyId}
      and deleted_at is null`
  return company
}

/** Updates the non-null members, and the default country if present; returns undefined if no living company has the id. */
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

export async function markCompanyRemoved(db: Db, companyId: number): Promise<boolean> {
  const removed = await db`
    update companies
    set deleted_at = now()
    where id = ${companyId}
      and deleted_at is null`
  return removed.count > 0
}
