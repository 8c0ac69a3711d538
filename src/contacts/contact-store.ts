import type { Db, Json } from '../db/connect.ts'
import { emailKey } from '../email-address.ts'
import type { ChangedBy, Channel, Contact } from './contact-record.ts'
import { searchText } from './contact-search.ts'

export const contactColumns = (db: Db) => db`
  contacts.id, contacts.email, contacts.phone, contacts.phone_identity, contacts.first_name, contacts.last_name,
  contacts.status, contacts.source, contacts.source_type, contacts.custom_fields, contacts.tags,
  contacts.email_consent, contacts.whatsapp_consent, contacts.external_id, contacts.external_connection_id,
  contacts.created_at, contacts.updated_at
`

export async function findContact(db: Db, companyId: number, id: number): Promise<Contact | undefined> {
  const [contact] = await db<Contact[]>`
    select ${contactColumns(db)}
    from contacts
    where (company_id, id) = (${companyId}, ${id}) and deleted_at is null
  `
  return contact
}

/** The living contact with this address, in any letter case. */
export async function findContactByEmail(db: Db, companyId: number, email: string): Promise<Contact | undefined> {
  const [contact] = await db<Contact[]>`
    select ${contactColumns(db)}
    from contacts
    where (company_id, email_key) = (${companyId}, ${emailKey(email)}) and deleted_at is null
  `
  return contact
}

/** Locks whoever is meant by the identities and ids until the transaction ends; answers the identities locked. */
export async function lockContacts(
  tx: Db,
  companyId: number,
  identities: readonly string[],
  ids: readonly number[],
): Promise<Set<string>> {
  const [row] = await tx<{ locked: string[] | null }[]>`
    select lock_contacts(${companyId}, ${[...identities]}::text[], ${[...ids]}::bigint[]) as locked
  `
  return new Set(row?.locked ?? [])
}

export type Known = Contact & { readonly emailKey: string | null; readonly phones: readonly string[] }

/**
 * The living contacts that the addresses and phone identities mean, and those named by id; of each, the phone
 * identities among the asked that mean it. Their rows stay locked until the transaction ends.
 */
export async function readMeant(
  tx: Db,
  companyId: number,
  asked: { emailKeys: readonly string[]; phones: readonly string[]; ids: readonly number[] },
): Promise<Known[]> {
  return tx<Known[]>`
    with meant as (
      select id, null as phone
      from contacts
      where company_id = ${companyId} and email_key = any (${[...asked.emailKeys]}::text[]) and deleted_at is null
      union all
      select contact_id, identity
      from contact_identities
      where company_id = ${companyId} and identity = any (${[...asked.phones]}::text[])
      union all
      select unnest(${[...asked.ids]}::bigint[]), null
    ),
    found as (
      select id, coalesce(array_agg(phone) filter (where phone is not null), '{}') as phones
      from meant
      group by id
    )
    select ${contactColumns(tx)}, contacts.email_key, found.phones
    from found
    join contacts on (contacts.company_id, contacts.id) = (${companyId}, found.id)
    where contacts.deleted_at is null
    order by contacts.id
    for no key update of contacts
  `
}

/** Whether somebody else who lives has this phone and no email. */
export async function hasTwinWithoutEmail(
  tx: Db,
  companyId: number,
  phoneIdentity: string,
  id: number,
): Promise<boolean> {
  const twins = await tx`
    select id
    from contacts
    where (company_id, phone_identity) = (${companyId}, ${phoneIdentity})
      and deleted_at is null
      and email_key is null
      and id <> ${id}
    limit 1
  `
  return twins.length > 0
}

/** The next ids, oldest first: given out before the rows are written, so that one statement can write them all. */
export async function takeContactIds(tx: Db, count: number): Promise<number[]> {
  if (count === 0) return []
  const rows = await tx<{ id: number }[]>`select nextval('contacts_id_seq') as id from generate_series(1, ${count})`
  return rows.map((row) => row.id)
}

/** A contact as it is to be from now on. */
export type ContactState = Omit<Contact, 'createdAt' | 'updatedAt' | 'externalId' | 'externalConnectionId'>

export type ConsentSet = { readonly contact_id: number; readonly channel: Channel; readonly value: boolean }

/**
 * Writes contacts as they are to be, new ones and known ones alike, with the changes of consent and the count, in one
 * statement; then points the phone identities to their oldest contacts. The caller holds the locks of all of them.
 */
export async function writeContacts(
  tx: Db,
  companyId: number,
  written: {
    states: readonly ContactState[]
    created: number
    consents: readonly ConsentSet[]
    phones: readonly string[]
  },
  by: ChangedBy,
): Promise<Contact[]> {
  const states = written.states.map(toRow)
  const contacts = tx<Contact[]>`
    with counted as (
      insert into contact_count_changes (company_id, change)
      select ${companyId}, ${written.created}
      where ${written.created} > 0
    ),
    consented as (
      insert into consent_changes (company_id, contact_id, channel, value, client_id, source, at)
      select
        ${companyId}, change.contact_id, change.channel, change.value,
        ${by.clientId}, ${by.source}, statement_timestamp()
      from jsonb_to_recordset(${tx.json([...written.consents])})
        as change (contact_id bigint, channel text, value boolean)
    )
    insert into contacts (
      company_id, id, email, email_key, phone, phone_identity, first_name, last_name, search_text, status, source,
      source_type, custom_fields, tags, email_consent, whatsapp_consent, created_at, updated_at
    )
    select
      ${companyId}, state.id, state.email, state.email_key, state.phone, state.phone_identity, state.first_name,
      state.last_name, state.search_text, state.status, state.source, state.source_type, state.custom_fields,
      state.tags, state.email_consent, state.whatsapp_consent, statement_timestamp(), statement_timestamp()
    from jsonb_to_recordset(${tx.json(states as Json)}) as state (
      id bigint, email text, email_key text, phone text, phone_identity text, first_name text, last_name text,
      search_text text, status text, source text, source_type text, custom_fields jsonb, tags text[],
      email_consent boolean, whatsapp_consent boolean
    )
    order by state.id
    on conflict (company_id, id) do update set
      email = excluded.email,
      email_key = excluded.email_key,
      phone = excluded.phone,
      phone_identity = excluded.phone_identity,
      first_name = excluded.first_name,
      last_name = excluded.last_name,
      search_text = excluded.search_text,
      status = excluded.status,
      source = excluded.source,
      source_type = excluded.source_type,
      custom_fields = excluded.custom_fields,
      tags = excluded.tags,
      email_consent = excluded.email_consent,
      whatsapp_consent = excluded.whatsapp_consent,
      updated_at = excluded.updated_at
    returning ${contactColumns(tx)}
  `.execute()
  // Begun above, so that this one follows it without waiting for its answer.
  const [rows] = await Promise.all([contacts, repointIdentities(tx, companyId, written.phones)])
  return rows
}

const toRow = (state: ContactState) => ({
  id: state.id,
  email: state.email,
  email_key: state.email === null ? null : emailKey(state.email),
  phone: state.phone,
  phone_identity: state.phoneIdentity,
  first_name: state.firstName,
  last_name: state.lastName,
  search_text: searchText(state),
  status: state.status,
  source: state.source,
  source_type: state.sourceType,
  custom_fields: state.customFields,
  tags: state.tags,
  email_consent: state.emailConsent,
  whatsapp_consent: state.whatsappConsent,
})

async function repointIdentities(tx: Db, companyId: number, phones: readonly string[]): Promise<void> {
  if (phones.length > 0) await tx`select repoint_identities(${companyId}, ${[...phones]}::text[])`
}

/** Ends a contact's life: nobody is meant by it any more. The caller holds its locks. */
export async function endContact(tx: Db, companyId: number, contact: Contact): Promise<void> {
  await tx`
    with ended as (
      update contacts
      set deleted_at = statement_timestamp(), updated_at = statement_timestamp()
      where (company_id, id) = (${companyId}, ${contact.id})
    ),
    counted as (
      insert into contact_count_changes (company_id, change) values (${companyId}, -1)
    )
    delete from contact_identities
    where (company_id, contact_id) = (${companyId}, ${contact.id})
  `
  await repointIdentities(tx, companyId, contact.phoneIdentity === null ? [] : [contact.phoneIdentity])
}
