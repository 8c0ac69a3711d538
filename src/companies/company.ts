import type { Db } from '../db/connect.ts'
import { companyNotFound, type FieldFault, validationError } from '../errors.ts'
import {
  type Company,
  findCompany,
  insertCompany,
  markCompanyRemoved,
  selectCompanies,
  updateCompanyRow,
} from './company-store.ts'

export type NewCompany = { name: string; rateLimitPerMinute?: number; readReceipts?: boolean }
export type CompanyChange = Partial<NewCompany>

/** The standard plan (decisions: Rate limit). */
const STANDARD_RATE_LIMIT_PER_MINUTE = 100

/** Creates a company; it has no keys and no senders yet. A name of blanks only: 422. */
export async function createCompany(db: Db, input: NewCompany): Promise<Company> {
  return insertCompany(db, {
    name: checkName(input.name),
    rateLimitPerMinute: input.rateLimitPerMinute ?? STANDARD_RATE_LIMIT_PER_MINUTE,
    readReceipts: input.readReceipts ?? true,
  })
}

/** All living companies, oldest first. */
export const listCompanies = (db: Db): Promise<Company[]> => selectCompanies(db)

/** The living company of this id, else 404. */
export async function getCompany(db: Db, companyId: number): Promise<Company> {
  const company = await findCompany(db, companyId)
  if (company === undefined) throw companyNotFound()
  return company
}

/** Changes the members of the input; 404 when there is no such company. */
export async function updateCompany(db: Db, companyId: number, change: CompanyChange): Promise<Company> {
  const company = await updateCompanyRow(db, companyId, {
    name: change.name === undefined ? null : checkName(change.name),
    rateLimitPerMinute: change.rateLimitPerMinute ?? null,
    readReceipts: change.readReceipts ?? null,
  })
  if (company === undefined) throw companyNotFound()
  return company
}

/** Marks the company as removed; its data stays. 404 when there is no such company. */
export async function removeCompany(db: Db, companyId: number): Promise<void> {
  if (!(await markCompanyRemoved(db, companyId))) throw companyNotFound()
}

/** The faults of a company that its shape cannot find: a blank name. */
export const companyFaults = ({ name }: Partial<NewCompany>): FieldFault[] =>
  name?.trim() === '' ? [{ path: 'name', message: 'must not be blank' }] : []

function checkName(name: string): string {
  const faults = companyFaults({ name })
  if (faults.length > 0) throw validationError(faults)
  return name.trim()
}
