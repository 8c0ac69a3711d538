import { type Db, sql } from '../db/connect.ts'
import { ERASING_ASSIGNMENTS } from './contact-record.ts'

/** Excludes identities shared with other living contacts or other customers. */
export type Person = {
  readonly email: string | null
  readonly emailKey: string | null
  readonly phone: string | null
  readonly phoneIdentity: string | null
  readonly isLiving: boolean
  readonly identities: readonly string[]
}

export async function readPerson(db: Db, companyId: number, id: number): Promise<Person | undefined> {
  const [person] = await db<Person[]>`
    with person as materialized (
      select *
      from contacts
      where (company_id, id) = (${companyId}, ${id}) and erased_at is null
    ),
    customer as materialized (
      select customers.id from customers where (customers.company_id, customers.contact_id) = (${companyId}, ${id})
    ),
    identity as (
      select phone_identity as identity, deleted_at is null as is_own from person where phone_identity is not null
      union
      select existing.identity, false
      from customer
      cross join lateral (
        select customer_identities.identity
        from customer_identities
        where (customer_identities.company_id, customer_identities.customer_id) = (${companyId}, customer.id)
      ) as existing
    )
    select
      email, phone, phone_identity, deleted_at is null as is_living,
      case
        when not exists (
          select
          from contacts other
          where other.company_id = ${companyId}
            and coalesce(other.email_key, (chr(1114111) || lpad(other.id::text, 16, '0'))) collate "C" = person.email_key
            and other.deleted_at is null
            and other.id <> person.id
        ) then email_key
      end as email_key,
      array(
        select distinct identity.identity
        from identity
        where not exists (
            select
            from contacts other
            where (other.company_id, other.phone_identity) = (${companyId}, identity.identity)
              and other.deleted_at is null
              and other.id <> person.id
          )
          -- A number that was retired may be another customer's by now.
          and (
            identity.is_own
            or not exists (
              select
              from find_customer(${companyId}, identity.identity) as other
              where other.customer_id not in (select customer.id from customer)
            )
          )
        order by identity.identity
      ) as identities
    from person
  `
  return person
}

/** Erases a deleted contact's row, except id, times and conversations. */
export async function blankContact(tx: Db, companyId: number, id: number): Promise<void> {
  await tx`
    update contacts
    set ${sql.unsafe(ERASING_ASSIGNMENTS)}
    where (company_id, id) = (${companyId}, ${id})
  `
}

export async function lastConsentId(tx: Db, companyId: number): Promise<number> {
  const [row] = await tx<{ id: number | null }[]>`select max(id) as id from consents where company_id = ${companyId}`
  return row?.id ?? 0
}

/** Erases up to `limit` ledger entries; those under other people's identities only lose the contact. */
export async function eraseConsents(
  db: Db,
  companyId: number,
  contactId: number,
  identities: readonly string[],
  lastId: number,
  limit: number,
): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    with target as materialized (
      select company_id, id, identity is null or identity = any(${[...identities]}::text[]) as is_own
      from (
        (
          select company_id, id, identity
          from consents
          where company_id = ${companyId} and identity = any(${[...identities]}::text[]) and id <= ${lastId}
          limit ${limit}
        )
        union
        (
          select company_id, id, identity
          from consents
          where (company_id, contact_id) = (${companyId}, ${contactId})
          limit ${limit}
        )
      ) as found
      limit ${limit}
    ),
    deleted as (
      delete from consents
      using target
      where (consents.company_id, consents.id) = (target.company_id, target.id) and target.is_own
    ),
    detached as (
      update consents
      set contact_id = null, client_id = null
      from target
      where (consents.company_id, consents.id) = (target.company_id, target.id) and not target.is_own
    )
    select count(*)::integer as count from target
  `
  return row?.count ?? 0
}
