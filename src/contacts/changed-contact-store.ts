import type { Db } from '../db/connect.ts'
import type { ShownContact } from '../people/contact-record.ts'
import { shownColumns } from '../people/contact-store.ts'

type ChangedContact = ShownContact & { isDeleted: boolean; isErased: boolean }

/** Returns the company's contacts with these ids, also deleted ones. */
export const listChangedContacts = (db: Db, companyId: number, ids: readonly number[]): Promise<ChangedContact[]> =>
  db<ChangedContact[]>`
    select ${shownColumns(companyId)}, deleted_at is not null as is_deleted, erased_at is not null as is_erased
    from contacts
    where contacts.company_id = ${companyId} and contacts.id = any (${[...ids]}::bigint[])
  `
