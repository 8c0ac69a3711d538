import type { Db } from '../db/connect.ts'
import { companyNotFound, type FieldFault, validationError } from '../platform/errors.ts'
import { isPhoneCountry, type PhoneCountry } from '../platform/text/phone.ts'
import { type Company, findCompany, insertCompany, selectCompanies, updateCompanyRow } from './company-store.ts'

type NewCompany = {
  name: string
  rateLimitPerMinute?: number
  readReceipts?: boolean
  defaultCountry?: string | null
  registrationLimit?: number
  sessionRateLimitPerMinute?: number
  agentsMayErase?: boolean
}
export type CompanyChange = Partial<NewCompany>

/** The standard plan (decisions: Rate limit). */
const STANDARD_RATE_LIMIT_PER_MINUTE = 100
const STANDARD_REGISTRATION_LIMIT = 50
export const STANDARD_SESSION_RATE_LIMIT = 3_000

/** Creates a company without keys or senders; 422 for a blank name. */
export async function createCompany(db: Db, input: NewCompany): Promise<Company> {
  return insertCompany(db, {
    name: checkName(input.name),
    rateLimitPerMinute: input.rateLimitPerMinute ?? STANDARD_RATE_LIMIT_PER_MINUTE,
    readReceipts: input.readReceipts ?? true,
    defaultCountry: checkCountry(input.defaultCountry ?? null),
    registrationLimit: input.registrationLimit ?? STANDARD_REGISTRATION_LIMIT,
    sessionRateLimitPerMinute: input.sessionRateLimitPerMinute ?? STANDARD_SESSION_RATE_LIMIT,
    agentsMayErase: input.agentsMayErase ?? false,
  })
}

export const listCompanies = (db: Db): Promise<Company[]> => selectCompanies(db)

export async function getCompany(db: Db, companyId: number): Promise<Company> {
  const company = await findCompany(db, companyId)
  if (company === undefined) throw companyNotFound()
  return company
}

export async function updateCompany(db: Db, companyId: number, change: CompanyChange): Promise<Company> {
  const company = await updateCompanyRow(db, companyId, {
    name: change.name === undefined ? null : checkName(change.name),
    rateLimitPerMinute: change.rateLimitPerMinute ?? null,
    readReceipts: change.readReceipts ?? null,
    registrationLimit: change.registrationLimit ?? null,
    sessionRateLimitPerMinute: change.sessionRateLimitPerMinute ?? null,
    agentsMayErase: change.agentsMayErase ?? null,
    ...(change.defaultCountry !== undefined && { defaultCountry: checkCountry(change.defaultCountry) }),
  })
  if (company === undefined) throw companyNotFound()
  return company
}

/** Returns the faults beyond the schema: blank name, unknown country. */
export const companyFaults = ({ name, defaultCountry }: Partial<NewCompany>): FieldFault[] => [
  ...(name?.trim() === '' ? [{ path: 'name', message: 'must not be blank' }] : []),
  ...(defaultCountry == null || isPhoneCountry(defaultCountry) ? [] : [UNKNOWN_COUNTRY]),
]

const UNKNOWN_COUNTRY = { path: 'defaultCountry', message: 'must be the ISO code of a country, such as IT, or null' }

function checkCountry(code: string | null): PhoneCountry | null {
  if (code !== null && !isPhoneCountry(code)) throw validationError([UNKNOWN_COUNTRY])
  return code
}

function checkName(name: string): string {
  const faults = companyFaults({ name })
  if (faults.length > 0) throw validationError(faults)
  return name.trim()
}
