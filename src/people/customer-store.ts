import { type Db, jsonRows } from '../db/connect.ts'

type NewCustomer = { companyId: number; id: number; contactId: number; phone: string | null }

/** `account`: for user ids, the WhatsApp business account that reported it. */
type CustomerIdentity = {
  companyId: number
  customerId: number
  identity: string
  account: string | null
  reportedAt: Date
  retiredAt?: Date | null
  leftAt?: Date | null
}

type IdCounts = { customers: number; contacts: number; conversations: number; messages: number }
export type Ids = { [kind in keyof IdCounts]: number[] }

/** Allocates ids in ascending order, so that a batch knows them before its rows are written. */
export async function takeIds(tx: Db, counts: IdCounts): Promise<Ids> {
  const [row] = await tx<Ids[]>`
    select
      array(select nextval('customers_id_seq') from generate_series(1, ${counts.customers})) as customers,
      array(select nextval('contacts_id_seq') from generate_series(1, ${counts.contacts})) as contacts,
      array(select nextval('conversations_id_seq') from generate_series(1, ${counts.conversations})) as conversations,
      array(select next_message_id() from generate_series(1, ${counts.messages})) as messages
  `
  return row ?? { customers: [], contacts: [], conversations: [], messages: [] }
}

const toRow = ({ companyId, id, contactId, phone }: NewCustomer) => ({
  company_id: companyId,
  id,
  contact_id: contactId,
  phone,
})

/** Inserts customers. Their contacts must exist. */
export async function insertCustomers(tx: Db, customers: readonly NewCustomer[]): Promise<void> {
  await tx`
    insert into customers (company_id, id, contact_id, phone)
    select company_id, id, contact_id, phone
    from jsonb_to_recordset(${jsonRows(tx, customers.map(toRow))}) as input (company_id bigint, id bigint, contact_id bigint, phone text)
  `
}

/** Inserts new identities, or reactivates retired ones of the same customer. */
export async function insertIdentities(tx: Db, identities: readonly CustomerIdentity[]): Promise<void> {
  const rows = identities.map(({ companyId, customerId, identity, account, reportedAt, retiredAt, leftAt }) => ({
    company_id: companyId,
    customer_id: customerId,
    identity,
    account,
    reported_at: reportedAt,
    retired_at: retiredAt ?? null,
    left_at: leftAt ?? null,
  }))
  await tx`
    insert into customer_identities (company_id, customer_id, identity, account, reported_at, retired_at, left_at)
    select
      company_id, customer_id, identity, account, reported_at, retired_at,
      case when retired_at is not null then coalesce(left_at, clock_timestamp()) end
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (
      company_id bigint, customer_id bigint, identity text, account text, reported_at timestamptz,
      retired_at timestamptz, left_at timestamptz
    )
    on conflict (company_id, customer_id, identity) do update set
      account = excluded.account,
      reported_at = excluded.reported_at,
      retired_at = excluded.retired_at,
      left_at = excluded.left_at
  `
}

export async function updateCustomers(tx: Db, customers: readonly NewCustomer[]): Promise<void> {
  await tx`
    update customers
    set contact_id = input.contact_id, phone = input.phone
    from jsonb_to_recordset(${jsonRows(tx, customers.map(toRow))}) as input (company_id bigint, id bigint, contact_id bigint, phone text)
    where (customers.company_id, customers.id) = (input.company_id, input.id)
  `
}

/** Deletes identities that will move to other customers or be inserted again. */
export async function deleteIdentities(
  tx: Db,
  identities: readonly Pick<CustomerIdentity, 'companyId' | 'customerId' | 'identity'>[],
): Promise<void> {
  const rows = identities.map(({ companyId, customerId, identity }) => ({
    company_id: companyId,
    customer_id: customerId,
    identity,
  }))
  await tx`
    delete from customer_identities
    using jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, customer_id bigint, identity text)
    where (customer_identities.company_id, customer_identities.customer_id, customer_identities.identity)
      = (input.company_id, input.customer_id, input.identity)
  `
}
