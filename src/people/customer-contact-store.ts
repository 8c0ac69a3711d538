import { type Db, jsonRows, sql } from '../db/connect.ts'
import { phoneIdentity } from '../platform/text/phone.ts'
import { searchText } from './contact-search.ts'

type CustomerContact = {
  readonly companyId: number
  readonly id: number
  /** Phone identity, user id, or `#` and a group id, which becomes the first name. */
  readonly identity: string
  readonly phone: string | null
  readonly source: string
  readonly sourceType: string
}

/** Inserts and counts customers' contacts; `showEarlierConsents` must follow for earlier consent. */
export async function insertCustomerContacts(tx: Db, contacts: readonly CustomerContact[]): Promise<void> {
  const rows = contacts.map(({ companyId, id, identity, phone, source, sourceType }) => {
    const groupId = identity.startsWith('#') ? identity.slice(1) : null
    return {
      company_id: companyId,
      id,
      phone,
      phone_identity: phone === null ? null : phoneIdentity(phone),
      first_name: groupId,
      search_text: searchText({ firstName: groupId, email: null, phone }),
      source,
      source_type: sourceType,
    }
  })
  await tx`
    with input as materialized (
      select *
      from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (
        company_id bigint, id bigint, phone text, phone_identity text, first_name text, search_text text, source text,
        source_type text
      )
    ),
    counted as (
      insert into contact_changes (company_id, change)
      select company_id, count(*) from input group by company_id
    )
    insert into contacts (company_id, id, phone, phone_identity, first_name, search_text, source, source_type)
    select company_id, id, phone, phone_identity, first_name, search_text, source, source_type
    from input
  `
}

/** Removes phone numbers from all living contacts; returns these contacts. */
export async function releasePhones(
  tx: Db,
  phones: readonly { companyId: number; identity: string }[],
): Promise<{ companyId: number; contactId: number }[]> {
  const rows = phones.map(({ companyId, identity }) => ({ company_id: companyId, identity }))
  return tx<{ companyId: number; contactId: number }[]>`
    update contacts
    set
      phone = null,
      phone_identity = null,
      search_text = ${withoutPhone},
      updated_at = statement_timestamp()
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, identity text)
    where (contacts.company_id, contacts.phone_identity) = (input.company_id, input.identity)
      and contacts.deleted_at is null
    returning contacts.company_id, contacts.id as contact_id
  `
}

export async function setContactPhones(
  tx: Db,
  contacts: readonly { companyId: number; contactId: number; phone: string }[],
): Promise<void> {
  const rows = contacts.map(({ companyId, contactId, phone }) => ({
    company_id: companyId,
    id: contactId,
    phone,
    phone_identity: phoneIdentity(phone),
  }))
  await tx`
    update contacts
    set
      phone = input.phone,
      phone_identity = input.phone_identity,
      search_text = concat_ws(chr(10), nullif(${withoutPhone}, ''), input.phone),
      updated_at = statement_timestamp()
    from jsonb_to_recordset(${jsonRows(tx, rows)})
      as input (company_id bigint, id bigint, phone text, phone_identity text)
    where (contacts.company_id, contacts.id) = (input.company_id, input.id) and contacts.deleted_at is null
  `
}

/** The phone is a line by itself in the search text: see contact-search.ts. */
const withoutPhone = sql`array_to_string(array_remove(string_to_array(contacts.search_text, chr(10)), contacts.phone), chr(10))`
