import { type Db, jsonRows, sql } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'
import { emailKey, storedKeys } from '../platform/text/email-address.ts'
import { phoneIdentity } from '../platform/text/phone.ts'
import { indexedText } from '../platform/text/search-text.ts'
import {
  CONTACT_COLUMNS,
  CONTACT_MEMBERS,
  type Contact,
  type ShownContact,
  STATE_MEMBERS,
  TEXT_MEMBERS,
  TEXT_NAMES,
  type Texts,
  WRITTEN_COLUMNS,
} from './contact-record.ts'

export const contactColumns = sql.unsafe(CONTACT_COLUMNS)

/** An erased person's suppression has a keyed hash, computed only if the company has suppressions. */
export const shownColumns = (companyId: number) => sql`
  ${contactColumns},
  case when (select exists (select from email_suppressions where company_id = ${companyId})) then (
    select jsonb_build_object('reason', suppression.reason, 'since', suppression.created_at)
    from email_suppressions suppression
    where suppression.company_id = contacts.company_id
      and suppression.address in (contacts.email_key, keyed_hash(contacts.company_id, contacts.email_key))
    order by suppression.reason desc
    limit 1
  ) end as email_suppression
`

/** The indexed email sort key: the address in lower case; contacts without one sort last. */
export const emailPlace = sql`coalesce(contacts.email_key, chr(1114111) || lpad(contacts.id::text, 16, '0')) collate "C"`

/**
 * Hides the company id from the planner, which then assumes an average company. A value missing from the statistics
 * counts as one row, and each key would read the whole company by another index.
 */
export const anyCompany = (companyId: number) => sql`(select ${companyId}::bigint)`

export async function findContact(db: Db, companyId: number, id: number): Promise<ShownContact | undefined> {
  const [contact] = await db<ShownContact[]>`
    select ${shownColumns(companyId)}
    from contacts
    where (company_id, id) = (${companyId}, ${id}) and deleted_at is null
  `
  return contact
}

export const listContactsByIds = (db: Db, companyId: number, ids: readonly number[]): Promise<ShownContact[]> =>
  db<ShownContact[]>`
    select ${shownColumns(companyId)}
    from contacts
    where contacts.company_id = ${companyId} and contacts.id = any (${[...ids]}::bigint[]) and deleted_at is null
    order by contacts.id
  `

export async function findContactByEmail(db: Db, companyId: number, email: string): Promise<ShownContact | undefined> {
  const [contact] = await db<ShownContact[]>`
    select ${shownColumns(companyId)}
    from contacts
    where company_id = ${companyId} and ${emailPlace} = any (${storedKeys(emailKey(email))}::text[]) and deleted_at is null
    order by contacts.email_key = ${emailKey(email)} desc
    limit 1
  `
  return contact
}

/** Allocates contact ids in ascending order, so that one statement can write all rows. */
export async function takeContactIds(tx: Db, count: number): Promise<number[]> {
  if (count === 0) return []
  const [row] = await tx<{ ids: number[] }[]>`
    select array_agg(nextval('contacts_id_seq')) as ids from generate_series(1, ${count})
  `
  return row?.ids ?? []
}

export type ContactState = Omit<Contact, 'createdAt' | 'updatedAt' | 'externalConnectionId'>

const NAMES = TEXT_NAMES.filter((name) => TEXT_MEMBERS[name].isName)

/** Builds a contact's search text: name, email in each domain spelling, phone. Every writer must use this function. */
export function searchText(contact: Partial<Texts> & { email: string | null; phone: string | null }): string {
  const name = NAMES.flatMap((part) => contact[part] ?? []).join(' ')
  const emails = contact.email === null ? [] : storedKeys(emailKey(contact.email))
  return [name, ...emails, contact.phone ?? '']
    .map(indexedText)
    .filter((line) => line !== '')
    .join('\n')
}

/** A row for bulk statements: see docs/decisions/0008-rows-as-json.md. */
export type ContactRow = { readonly id: number } & Readonly<Record<string, unknown>>

export function toContactRow(state: ContactState): ContactRow {
  const row: { id: number; [column: string]: unknown } = {
    id: state.id,
    phone_identity: state.phoneIdentity,
    email_key: state.email === null ? null : emailKey(state.email),
    search_text: searchText(state),
  }
  for (const name of STATE_MEMBERS) row[CONTACT_MEMBERS[name].column] = state[name]
  return row
}

const COLUMNS = WRITTEN_COLUMNS.map(({ column }) => column)

const fromRows = (tx: Db, rows: readonly ContactRow[]) => sql`
  jsonb_to_recordset(${jsonRows(tx, rows)}) as state (
    ${sql.unsafe(WRITTEN_COLUMNS.map(({ column, type }) => `${column} ${type}`).join(', '))}
  )
`

/** An unchanged email keeps its key: under another spelling, the mailbox may be another contact's. */
const assignedValue = (column: string): string =>
  column === 'email_key'
    ? 'case when contacts.email = state.email then contacts.email_key else state.email_key end'
    : `state.${column}`

const ASSIGNMENTS = sql.unsafe(
  COLUMNS.filter((column) => column !== 'id')
    .map((column) => `${column} = ${assignedValue(column)}`)
    .join(', '),
)

/** Inserts and counts contacts; returns the creation time. The caller must hold their locks. */
export async function insertContacts(
  tx: Db,
  companyId: number,
  rows: readonly ContactRow[],
): Promise<Date | undefined> {
  const [row] = await tx<{ at: Date }[]>`
    with written as (
      insert into contacts (company_id, ${sql.unsafe(COLUMNS.join(', '))}, created_at, updated_at)
      select ${companyId}, ${sql.unsafe(COLUMNS.join(', '))}, statement_timestamp(), statement_timestamp()
      from ${fromRows(tx, rows)}
    ),
    counted as (
      insert into contact_changes (company_id, change)
      values (${companyId}, ${rows.length})
    )
    select statement_timestamp() as at
  `
  return row?.at
}

/** Updates contacts; returns the time. The caller must hold their locks. */
export async function updateContacts(
  tx: Db,
  companyId: number,
  rows: readonly ContactRow[],
): Promise<Date | undefined> {
  const [row] = await tx<{ at: Date }[]>`
    with written as (
      update contacts
      set
        ${ASSIGNMENTS},
        updated_at = statement_timestamp()
      from ${fromRows(tx, rows)}
      where (contacts.company_id, contacts.id) = (${anyCompany(companyId)}, state.id)
        -- No plan reads other contacts, whatever the statistics say.
        and contacts.id = any(${rows.map(({ id }) => id)}::bigint[])
    )
    select statement_timestamp() as at
  `
  return row?.at
}

/** Clears emails for the rest of the transaction, so that other contacts can take them. */
export async function releaseEmails(tx: Db, companyId: number, ids: readonly number[]): Promise<void> {
  await tx`
    update contacts
    set email_key = null
    where company_id = ${companyId} and id = any(${[...ids]}::bigint[])
  `
}

/** Soft-deletes a contact. The caller must hold its locks. */
export async function endContact(tx: Db, companyId: number, id: number): Promise<void> {
  await tx`
    with ended as (
      update contacts
      set deleted_at = statement_timestamp(), updated_at = statement_timestamp()
      where (company_id, id) = (${companyId}, ${id})
    )
    insert into contact_changes (company_id, change) values (${companyId}, -1)
  `
}

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
  const rows = contacts.map(({ identity, phone, ...contact }) => {
    const firstName = identity.startsWith('#') ? identity.slice(1) : null
    const text = searchText({ firstName, email: null, phone })
    return { ...contact, phone, phoneIdentity: phone && phoneIdentity(phone), firstName, searchText: text }
  })
  const input = inputRows(rows, {
    bigint: ['companyId', 'id'],
    text: ['phone', 'phoneIdentity', 'firstName', 'searchText', 'source', 'sourceType'],
  })
  await tx`
    with input as materialized (
      select * from ${input}
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
  return tx<{ companyId: number; contactId: number }[]>`
    update contacts
    set
      phone = null,
      phone_identity = null,
      search_text = ${withoutPhone},
      updated_at = statement_timestamp()
    from ${inputRows(phones, { bigint: ['companyId'], text: ['identity'] })}
    where (contacts.company_id, contacts.phone_identity) = (input.company_id, input.identity)
      and contacts.deleted_at is null
    returning contacts.company_id, contacts.id as contact_id
  `
}

export async function setContactPhones(
  tx: Db,
  contacts: readonly { companyId: number; contactId: number; phone: string }[],
): Promise<void> {
  const rows = contacts.map((contact) => ({ ...contact, phoneIdentity: phoneIdentity(contact.phone) }))
  await tx`
    update contacts
    set
      phone = input.phone,
      phone_identity = input.phone_identity,
      search_text = concat_ws(chr(10), nullif(${withoutPhone}, ''), input.phone),
      updated_at = statement_timestamp()
    from ${inputRows(rows, { bigint: ['companyId', 'contactId'], text: ['phone', 'phoneIdentity'] })}
    where (contacts.company_id, contacts.id) = (input.company_id, input.contact_id) and contacts.deleted_at is null
  `
}

/** The phone is a line by itself in the search text. */
const withoutPhone = sql`array_to_string(array_remove(string_to_array(contacts.search_text, chr(10)), contacts.phone), chr(10))`
