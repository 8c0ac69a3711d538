import type { Db } from '../../db/connect.ts'
import type { Contact } from '../../people/contact-record.ts'
import { contactColumns } from '../../people/contact-store.ts'

export async function readContactsAfter(db: Db, companyId: number, id: number, limit: number): Promise<Contact[]> {
  return db<Contact[]>`
    select ${contactColumns}
    from contacts
    where company_id = ${companyId}
      and id > ${id}
      and deleted_at is null
    order by id
    limit ${limit}
  `
}

/** Returns up to `limit` custom field keys in use, sorted. */
export async function readCustomKeys(db: Db, companyId: number, limit: number): Promise<string[]> {
  const rows = await db<{ key: string }[]>`
    select distinct key collate "C" as key
    from contacts
    cross join lateral jsonb_object_keys(custom_fields) as key
    where company_id = ${companyId} and deleted_at is null and custom_fields <> '{}'
    order by 1
    limit ${limit}
  `
  return rows.map((row) => row.key)
}
