import { type Db, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'
import type { Contact } from '../contact-record.ts'
import { anyCompany, contactColumns, emailPlace } from '../contact-store.ts'

export type Named = {
  readonly emailKey: string | null
  readonly phoneIdentity: string | null
  readonly id?: number | undefined
}

/** Large batches in one lane exclude each other: request arrays, and list imports. */
export type BatchLane = 'array' | 'import'

/**
 * Locks identities until the transaction ends; returns false without waiting if one is taken. A lane also takes a
 * large-batch slot: one per company and lane, and only as many in total as fit in the server's lock table. Large
 * batches force custom plans: a plan made for an empty table may read the whole company for each row.
 */
export async function tryLockContacts(
  tx: Db,
  companyId: number,
  identities: readonly string[],
  lane: BatchLane | null,
): Promise<boolean> {
  const [row] = await tx<{ isLocked: boolean }[]>`
    select
      try_lock_contacts(${companyId}, ${[...identities]}::text[], ${lane}) as is_locked
      ${lane === null ? sql`` : sql`, set_config('plan_cache_mode', 'force_custom_plan', true)`}
  `
  return row?.isLocked ?? false
}

/** `identities` are the current ones of its customers, if a named phone leads to the contact through a customer. */
export type Match = Contact & { readonly emailKey: string | null; readonly identities: readonly string[] }

/**
 * Locks and returns all living contacts a list of writes can match, at most three per write: by email, by id, by the
 * phone's customer, and the oldest holders of each phone, as many as writes with it, since each write can take the
 * phone from only one contact. Undefined if a row changed since the search.
 * @throws DatabaseError 55P03 if another transaction has locked one of the rows
 */
export async function readMatches(
  tx: Db,
  companyId: number,
  named: readonly Named[],
): Promise<readonly Match[] | undefined> {
  const company = anyCompany(companyId)
  const rows = await tx<(Match & { isChanged: boolean })[]>`
    with item as materialized (
      select *
      from ${inputRows(named.map(toNamedRow), { text: ['emailKey', 'phone'], bigint: ['id'] }, 'item')}
    ),
    phone as materialized (
      select item.phone as identity, count(*) as names from item where item.phone is not null group by item.phone
    ),
    customer as materialized (${customersOfPhones(companyId)}),
    direct as materialized (${contactsByEmailIdOrCustomer(companyId)}),
    found as materialized (
      select id from direct
      union all
      ${holdersOfPhones(companyId)}
    ),
    seen as materialized (
      select found.id, version.xmin
      from found
      cross join lateral (
        select contacts.xmin
        from contacts
        where (contacts.company_id, contacts.id) = (${company}, found.id) and contacts.deleted_at is null
        limit 1
      ) as version
    )
    select
      contact.*,
      contact.xmin <> seen.xmin as is_changed,
      coalesce((select customer.identities from customer where customer.contact_id = seen.id), '{}') as identities
    from seen
    -- Lateral, so that no plan joins by reading all contacts of the company.
    cross join lateral (
      select ${contactColumns}, contacts.email_key, contacts.xmin
      from contacts
      where (contacts.company_id, contacts.id) = (${company}, seen.id)
      for no key update nowait
    ) as contact
  `
  return rows.some(({ isChanged }) => isChanged) ? undefined : rows
}

const customersOfPhones = (companyId: number) => sql`
  select led.contact_id, array_agg(own.identity) as identities
  from (
    select distinct customers.contact_id
    from phone
    cross join lateral find_customer(${anyCompany(companyId)}, phone.identity) as existing
    join customers on (customers.company_id, customers.id) = (${anyCompany(companyId)}, existing.customer_id)
  ) as led
  cross join lateral (
    select customer_identities.identity
    from customers
    join customer_identities
      on (customer_identities.company_id, customer_identities.customer_id) = (customers.company_id, customers.id)
    where (customers.company_id, customers.contact_id) = (${anyCompany(companyId)}, led.contact_id)
      and customer_identities.retired_at is null
  ) as own
  group by led.contact_id
`

const contactsByEmailIdOrCustomer = (companyId: number) => sql`
  select existing.id
  from (select distinct email_key from item where email_key is not null) as email
  cross join lateral (
    select contacts.id
    from contacts
    where contacts.company_id = ${anyCompany(companyId)}
      and ${emailPlace} = email.email_key
      and contacts.deleted_at is null
    limit 1
  ) as existing
  union
  select id from item where id is not null
  union
  select contact_id from customer
`

const holdersOfPhones = (companyId: number) => sql`
  select holder.id
  from phone
  cross join lateral (
    select contacts.id
    from contacts
    where (contacts.company_id, contacts.phone_identity) = (${anyCompany(companyId)}, phone.identity)
      and contacts.deleted_at is null
      and contacts.id not in (select direct.id from direct)
    order by contacts.id
    limit phone.names
  ) as holder
`

const toNamedRow = ({ emailKey, phoneIdentity, id }: Named) => ({
  emailKey,
  phone: phoneIdentity,
  id: id ?? null,
})

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

type Known = {
  /** Whether an identity leads to a customer or has a consent ledger entry, also under its keyed hash. */
  readonly areKnown: boolean
  readonly detached: readonly string[]
}

export async function readKnown(tx: Db, companyId: number, identities: readonly string[]): Promise<Known> {
  const [row] = await tx<Known[]>`
    select
      -- Most lists are imported before anything is said: one look then saves two for each identity.
      exists (select from consents where consents.company_id = ${companyId})
      and exists (
        select
        from unnest(${[...identities]}::text[]) as input (identity)
        where exists (select from find_customer(${companyId}, input.identity))
          or exists (
            select
            from unnest(array[input.identity, keyed_hash(${companyId}, input.identity)]) as form (identity)
            join consents on (consents.company_id, consents.identity) = (${companyId}, form.identity)
          )
      ) as are_known,
      array(
        select input.identity
        from unnest(${[...identities]}::text[]) as input (identity)
        cross join lateral find_customer(${companyId}, input.identity) as found
        cross join lateral (
          select customers.contact_id
          from customers
          where (customers.company_id, customers.id) = (found.company_id, found.customer_id)
          limit 1
        ) as customer
        cross join lateral (
          select
          from contacts
          where (contacts.company_id, contacts.id) = (found.company_id, customer.contact_id)
            and contacts.deleted_at is not null
          limit 1
        ) as deleted
        where input.identity ~ '^[0-9]'
      ) as detached
  `
  return row ?? { areKnown: true, detached: [] }
}

export async function listCustomerPhones(tx: Db, companyId: number, contactId: number): Promise<string[]> {
  const rows = await tx<{ identity: string }[]>`
    select identity.identity
    from customers
    join customer_identities identity
      on (identity.company_id, identity.customer_id) = (customers.company_id, customers.id)
    where (customers.company_id, customers.contact_id) = (${companyId}, ${contactId})
      and identity.identity ~ '^[0-9]'
      and identity.retired_at is null
    order by identity.identity
  `
  return rows.map(({ identity }) => identity)
}

/** Returns the numbers (digits) used by a contact or customer of the company. */
export async function findKnownPhones(db: Db, companyId: number, phones: readonly string[]): Promise<Set<string>> {
  if (phones.length === 0) return new Set()
  const named = phones.map((phone) => ({ phone, identity: phoneIdentity(phone) }))
  const known = await db<{ phone: string }[]>`
    select item.phone
    from ${inputRows(named, { text: ['phone', 'identity'] }, 'item')}
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
