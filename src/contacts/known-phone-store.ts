import { type Db, jsonRows } from '../db/connect.ts'
import { phoneIdentity } from '../platform/text/phone.ts'

/** Returns the numbers (digits) used by a contact or customer of the company. */
export async function findKnownPhones(db: Db, companyId: number, phones: readonly string[]): Promise<Set<string>> {
  if (phones.length === 0) return new Set()
  const named = phones.map((phone) => ({ phone, identity: phoneIdentity(phone) }))
  const known = await db<{ phone: string }[]>`
    select item.phone
    from jsonb_to_recordset(${jsonRows(db, named)}) as item (phone text, identity text)
    where exists (select from find_customer(${companyId}, item.identity))
      or exists (
        select
        from contacts
        where (contacts.company_id, contacts.phone_identity) = (${companyId}, item.identity)
          and contacts.deleted_at is null
      )
  `
  return new Set(known.map(({ phone }) => phone))
}
