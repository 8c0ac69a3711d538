import type { Db } from '../db/connect.ts'
import type { Contact } from './contact-record.ts'
import { contactColumns } from './contact-store.ts'

/** The contacts of these ids that the company has or has deleted. */
export const listChangedContacts = (
  db: Db,
  companyId: number,
  ids: readonly number[],
): Promise<(Contact & { isDeleted: boolean })[]> =>
  db<(Contact & { isDeleted: boolean })[]>`
    select ${contactColumns(db)}, deleted_at is not null as is_deleted
    from contacts
    where contacts.company_id = ${companyId} and contacts.id = any (${[...ids]}::bigint[])
  `
