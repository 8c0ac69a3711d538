import { type Db, jsonRows } from '../db/connect.ts'
import { emailKey } from '../text/email-address.ts'
import type { ChangedBy, Channel, Contact } from './contact-record.ts'
import { searchText } from './search/contact-search.ts'

/** The columns of `Contact`, as part of a statement that reads `contacts`. */
export const contactColumns = (db: Db) => db`
  contacts.id, contacts.email, contacts.phone, contacts.phone_identity, contacts.first_name, contacts.last_name,
  contacts.status, contacts.source, contacts.source_type, contacts.custom_fields, contacts.tags,
  contacts.email_consent, contacts.whatsapp_consent, contacts.external_id, contacts.external_connection_id,
  contacts.created_at, contacts.updated_at
`

/** A contact's place by email, as it is indexed: its address in lower case, or, without one, after all who have one. */
export const emailPlace = (db: Db) =>
  db`coalesce(contacts.email_key, chr(1114111) || lpad(contacts.id::text, 16, '0')) collate "C"`

/**
 * The company in a statement that finds many contacts by key: the planner estimates for a company of average size. A value
 * that the statistics do not contain counts as one row, and each key then reads all of the company by another index.
 */
export const anyCompany = (db: Db, companyId: number) => db`(select ${companyId}::bigint)`

/** The contact with this id; undefined when the company has none, or has deleted it. */
export async function findContact(db: Db, companyId: number, id: number): Promise<Contact | undefined> {
  const [contact] = await db<Contact[]>`
    select ${contactColumns(db)}
    from contacts
    where (company_id, id) = (${companyId}, ${id}) and deleted_at is null
  `
  return contact
}

/** The living contacts of these ids that the company has. */
export const listContactsByIds = (db: Db, companyId: number, ids: readonly number[]): Promise<Contact[]> =>
  db<Contact[]>`
    select ${contactColumns(db)}
    from contacts
    where contacts.company_id = ${companyId} and contacts.id = any (${[...ids]}::bigint[]) and deleted_at is null
    order by contacts.id
  `

/** The living contact with this address, in any letter case. */
export async function findContactByEmail(db: Db, companyId: number, email: string): Promise<Contact | undefined> {
  const [contact] = await db<Contact[]>`
    select ${contactColumns(db)}
    from contacts
    where company_id = ${companyId} and ${emailPlace(db)} = ${emailKey(email)} and deleted_at is null
  `
  return contact
}

/** The next ids, oldest first: given out before the rows are written, so that one statement can write them all. */
export async function takeContactIds(tx: Db, count: number): Promise<number[]> {
  if (count === 0) return []
  const [row] = await tx<{ ids: number[] }[]>`
    select array_agg(nextval('contacts_id_seq')) as ids from generate_series(1, ${count})
  `
  return row?.ids ?? []
}

/** A contact as it is to be from now on. */
export type ContactState = Omit<Contact, 'createdAt' | 'updatedAt' | 'externalId' | 'externalConnectionId'>

export type ConsentSet = { readonly contact_id: number; readonly channel: Channel; readonly value: boolean }

/** Contacts as a statement takes many at once: see docs/decisions/0008-rows-as-json.md. */
export type ContactRow = ReturnType<typeof toContactRow>

/**
 * The stored form of a contact, with the columns that are made of others: keys of identity and the text of the
 * search.
 */
export const toContactRow = (state: ContactState) => ({
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

const fromRows = (tx: Db, rows: readonly ContactRow[]) => tx`
  jsonb_to_recordset(${jsonRows(tx, rows)}) as state (
    id bigint, email text, email_key text, phone text, phone_identity text, first_name text, last_name text,
    search_text text, status text, source text, source_type text, custom_fields jsonb, tags text[], email_consent boolean,
    whatsapp_consent boolean
  )
`

/** When contacts were written, and those of them that have an opt-out on a channel. */
export type Written = { at: Date; optedOut: ConsentsOf[] }
type ConsentsOf = { id: number; emailConsent: boolean | null; whatsappConsent: boolean | null }

const statedConsent = (tx: Db, channel: Channel) =>
  channel === 'email' ? tx`state.email_consent` : tx`state.whatsapp_consent`

/**
 * Whether an opt-out was kept under the identity that a contact is to have. Most companies have none: one look for each
 * statement then saves a function call for each contact and channel.
 */
const isOptedOut = (tx: Db, companyId: number, channel: Channel) => tx`
  (
    (select exists (select from opt_outs where opt_outs.company_id = ${companyId}))
    and is_opted_out(${companyId}, ${channel}::text, consent_identity(${channel}::text, state.email_key, state.phone_identity))
  )
`

/** The consent that a new contact is to have; without one, the opt-out of its identity. */
const consentOf = (tx: Db, companyId: number, channel: Channel) => tx`
  coalesce(${statedConsent(tx, channel)}, case when ${isOptedOut(tx, companyId, channel)} then false end)
`

/** The consent of a known contact: another email or phone brings its opt-out, unless the write says otherwise. */
const changedConsent = (tx: Db, companyId: number, channel: Channel, consents: readonly ConsentSet[]) => {
  const given = consents.filter((consent) => consent.channel === channel).map((consent) => consent.contact_id)
  const isSame =
    channel === 'email'
      ? tx`contacts.email_key is not distinct from state.email_key`
      : tx`contacts.phone_identity is not distinct from state.phone_identity`
  return tx`
    case
      when ${isSame} or state.id = any(${given}::bigint[]) then ${statedConsent(tx, channel)}
      when ${isOptedOut(tx, companyId, channel)} then false
      else ${statedConsent(tx, channel)}
    end
  `
}

const optedOut = (tx: Db) => tx`
  (
    select coalesce(
      json_agg(json_build_object('id', id, 'emailConsent', email_consent, 'whatsappConsent', whatsapp_consent)), '[]'
    )
    from written
    where not email_consent or not whatsapp_consent
  ) as opted_out
`

/**
 * Adds contacts, and counts them. A contact begins with the opt-outs of its identities unless
 * it has a consent of its own. The caller holds their locks.
 */
export async function insertContacts(
  tx: Db,
  companyId: number,
  rows: readonly ContactRow[],
): Promise<Written | undefined> {
  const [row] = await tx<Written[]>`
    with written as (
      insert into contacts (
        company_id, id, email, email_key, phone, phone_identity, first_name, last_name, search_text, status, source,
        source_type, custom_fields, tags, email_consent, whatsapp_consent, created_at, updated_at
      )
      select
        ${companyId}, id, email, email_key, phone, phone_identity, first_name, last_name, search_text, status, source,
        source_type, custom_fields, tags, ${consentOf(tx, companyId, 'email')},
        ${consentOf(tx, companyId, 'whatsapp')}, statement_timestamp(), statement_timestamp()
      from ${fromRows(tx, rows)}
      returning id, email_consent, whatsapp_consent
    ),
    told as (
      insert into contact_changes (company_id, change)
      values (${companyId}, ${rows.length})
    )
    select statement_timestamp() as at, ${optedOut(tx)}
  `
  return row
}

/**
 * Writes known contacts in their new state. A contact that takes another email or phone takes the opt-out of that too,
 * unless it is among the changes of consent. The caller holds their locks.
 */
export async function updateContacts(
  tx: Db,
  companyId: number,
  rows: readonly ContactRow[],
  consents: readonly ConsentSet[],
): Promise<Written | undefined> {
  const [row] = await tx<Written[]>`
    with written as (
      update contacts
      set
        email = state.email,
        email_key = state.email_key,
        phone = state.phone,
        phone_identity = state.phone_identity,
        first_name = state.first_name,
        last_name = state.last_name,
        search_text = state.search_text,
        status = state.status,
        source = state.source,
        source_type = state.source_type,
        custom_fields = state.custom_fields,
        tags = state.tags,
        email_consent = ${changedConsent(tx, companyId, 'email', consents)},
        whatsapp_consent = ${changedConsent(tx, companyId, 'whatsapp', consents)},
        updated_at = statement_timestamp()
      from ${fromRows(tx, rows)}
      where (contacts.company_id, contacts.id) = (${anyCompany(tx, companyId)}, state.id)
        -- No plan reads other contacts, whatever the statistics say.
        and contacts.id = any(${rows.map(({ id }) => id)}::bigint[])
      returning contacts.id, contacts.email_consent, contacts.whatsapp_consent
    )
    select statement_timestamp() as at, ${optedOut(tx)}
  `
  return row
}

/** Removes the emails of contacts for the rest of the transaction, so that other contacts can take them. */
export async function releaseEmails(tx: Db, companyId: number, ids: readonly number[]): Promise<void> {
  await tx`
    update contacts
    set email_key = null
    where company_id = ${companyId} and id = any(${[...ids]}::bigint[])
  `
}

/** Keeps changes of consent in their history; an opt-out outlives its contact until a later opt-in. */
export async function insertConsents(
  tx: Db,
  companyId: number,
  consents: readonly ConsentSet[],
  by: ChangedBy,
): Promise<void> {
  await tx`
    select record_consents(${companyId}, ${jsonRows(tx, consents)}, ${by.clientId}, ${by.source})
  `
}

/** Deletes the aliases of contacts for phone numbers that they no longer have. */
export async function forgetAliases(
  tx: Db,
  companyId: number,
  released: readonly { id: number; identity: string }[],
): Promise<void> {
  await tx`
    delete from contact_aliases
    using jsonb_to_recordset(${jsonRows(tx, released)}) as released (id bigint, identity text)
    where (contact_aliases.company_id, contact_aliases.identity) = (${anyCompany(tx, companyId)}, released.identity)
      and contact_aliases.contact_id = released.id
  `
}

/** Deletes a contact softly; its opt-outs stay, under all identities that it has now. The caller holds its locks. */
export async function endContact(tx: Db, companyId: number, id: number): Promise<void> {
  await tx`
    with ended as (
      update contacts
      set deleted_at = statement_timestamp(), updated_at = statement_timestamp()
      where (company_id, id) = (${companyId}, ${id})
      returning email_key, phone_identity, email_consent, whatsapp_consent
    ),
    told as (
      insert into contact_changes (company_id, change) values (${companyId}, -1)
    ),
    forgotten as (
      delete from contact_aliases
      where (company_id, contact_id) = (${companyId}, ${id})
      returning identity
    )
    insert into opt_outs (company_id, channel, identity)
    select ${companyId}, refused.channel, refused.identity
    from ended
    cross join lateral (
      select 'email', consent_identity('email', ended.email_key, ended.phone_identity)
      where not ended.email_consent
      union
      select 'whatsapp', consent_identity('whatsapp', ended.email_key, ended.phone_identity)
      where not ended.whatsapp_consent
      union
      select 'whatsapp', forgotten.identity
      from forgotten
      where not ended.whatsapp_consent
    ) as refused (channel, identity)
    where refused.identity is not null
    on conflict do nothing
  `
}
