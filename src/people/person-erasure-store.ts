import { blankConversations } from '../conversations/conversation-erasure-store.ts'
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

/** Erases a contact's customers. The caller must hold the identity locks. */
export async function detachCustomers(tx: Db, companyId: number, contactId: number): Promise<void> {
  const customers = await tx<{ id: number }[]>`
    select id from customers where (company_id, contact_id) = (${companyId}, ${contactId}) order by id
  `
  for (const { id } of customers) {
    await lockCustomer(tx, companyId, id)
    await blankCustomer(tx, companyId, id)
  }
}

/** Erases the customer of a contact's conversation, unless another contact owns the conversation by now. */
export async function detachCustomerOf(
  tx: Db,
  companyId: number,
  contactId: number,
  conversationId: number,
): Promise<void> {
  const read = () => tx<{ id: number }[]>`
    select customer.id
    from conversations conversation
    join customers customer on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
    where (conversation.company_id, conversation.id, customer.contact_id) = (${companyId}, ${conversationId}, ${contactId})
  `
  const [found] = await read()
  if (found === undefined) return
  await lockCustomer(tx, companyId, found.id)
  const [locked] = await read()
  if (locked?.id === found.id) await blankCustomer(tx, companyId, found.id)
}

const lockCustomer = (tx: Db, companyId: number, customerId: number) => tx`
  select identity
  from lock_customers(
    (
      select coalesce(jsonb_agg(jsonb_build_object('company_id', company_id, 'identity', identity)), '[]')
      from customer_identities
      where (company_id, customer_id) = (${companyId}, ${customerId})
    ),
    true
  )
`

/** The caller must hold the customer lock. */
async function blankCustomer(tx: Db, companyId: number, id: number): Promise<void> {
  await tx`delete from customer_identities where (company_id, customer_id) = (${companyId}, ${id})`
  await tx`update customers set phone = null where (company_id, id) = (${companyId}, ${id})`
  await blankConversations(tx, companyId, id)
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
