import { type Db, type Fragment, jsonRows, sql } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'
import { phoneIdentity } from '../platform/text/phone.ts'

/** A phone identity, a user id, or `#` and a group id. */
export type IdentityKey = { readonly companyId: number; readonly identity: string }

export type LockedIdentity = IdentityKey & { readonly customerId: number | null }

/**
 * Locks identities and their customers until the transaction ends. Facts must be read in a later statement; if an
 * identity then leads to another customer, start over.
 */
export const lockCustomers = (tx: Db, keys: readonly IdentityKey[]): Promise<LockedIdentity[]> => lock(tx, keys, true)

export const tryLockCustomers = (tx: Db, keys: readonly IdentityKey[]): Promise<LockedIdentity[]> =>
  lock(tx, keys, false)

const lock = (tx: Db, keys: readonly IdentityKey[], isPatient: boolean): Promise<LockedIdentity[]> =>
  tx<LockedIdentity[]>`
    select company_id, identity, customer_id
    from lock_customers(
      ${jsonRows(
        tx,
        keys.map(({ companyId, identity }) => ({ company_id: companyId, identity })),
      )}, ${isPatient}
    )
  `

type NamedTogether = {
  readonly companyId: number
  readonly requestedIdentity: string
  readonly phone: string | null
  readonly userId: string | null
}

/** Returns entries whose number or user id leads to another customer than the requested identity. */
export async function findUnlinked<Named extends NamedTogether>(db: Db, named: readonly Named[]): Promise<Named[]> {
  const rows = named.flatMap(({ companyId, requestedIdentity, phone, userId }, place) =>
    [phone === null ? null : phoneIdentity(phone), userId]
      .filter((other) => other !== null && other !== requestedIdentity)
      .map((other) => ({ place, companyId, requestedIdentity, other })),
  )
  if (rows.length === 0) return []
  const unlinked = await db<{ place: number }[]>`
    select distinct input.place
    from ${inputRows(rows, { integer: ['place'], bigint: ['companyId'], text: ['requestedIdentity', 'other'] })}
    where (select customer_id from find_customer(input.company_id, input.requested_identity))
      is distinct from (select customer_id from find_customer(input.company_id, input.other))
  `
  const places = new Set(unlinked.map(({ place }) => place))
  return named.filter((_, place) => places.has(place))
}

type IdCounts = { customers: number; contacts: number; conversations: number; messages: number }
type Ids = { [kind in keyof IdCounts]: number[] }

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

type CustomerRow = { companyId: number; id: number; contactId: number; phone: string | null }
const CUSTOMER = { bigint: ['companyId', 'id', 'contactId'], text: ['phone'] } as const

/** Inserts customers. Their contacts must exist. */
export async function insertCustomers(tx: Db, customers: readonly CustomerRow[]): Promise<void> {
  await tx`
    insert into customers (company_id, id, contact_id, phone)
    select company_id, id, contact_id, phone
    from ${inputRows(customers, CUSTOMER)}
  `
}

export async function updateCustomers(tx: Db, customers: readonly CustomerRow[]): Promise<void> {
  await tx`
    update customers
    set contact_id = input.contact_id, phone = input.phone
    from ${inputRows(customers, CUSTOMER)}
    where (customers.company_id, customers.id) = (input.company_id, input.id)
  `
}

/** Attaches customers with deleted contacts to new ones. */
export async function attachContacts(
  tx: Db,
  attached: readonly { companyId: number; customerId: number; contactId: number }[],
): Promise<void> {
  await tx`
    update customers customer
    set contact_id = input.contact_id
    from ${inputRows(attached, { bigint: ['companyId', 'customerId', 'contactId'] })}
    where (customer.company_id, customer.id) = (input.company_id, input.customer_id)
  `
}

type CustomerIdentity = {
  companyId: number
  customerId: number
  identity: string
  /** For user ids, the WhatsApp business account that reported it. */
  account: string | null
  reportedAt: Date
  retiredAt?: Date | null
  leftAt?: Date | null
}

/** Inserts new identities, or reactivates retired ones of the same customer. */
export async function insertIdentities(tx: Db, identities: readonly CustomerIdentity[]): Promise<void> {
  const input = inputRows(identities, {
    bigint: ['companyId', 'customerId'],
    text: ['identity', 'account'],
    timestamptz: ['reportedAt', 'retiredAt', 'leftAt'],
  })
  await tx`
    insert into customer_identities (company_id, customer_id, identity, account, reported_at, retired_at, left_at)
    select
      company_id, customer_id, identity, account, reported_at, retired_at,
      case when retired_at is not null then coalesce(left_at, clock_timestamp()) end
    from ${input}
    on conflict (company_id, customer_id, identity) do update set
      account = excluded.account,
      reported_at = excluded.reported_at,
      retired_at = excluded.retired_at,
      left_at = excluded.left_at
  `
}

/** Deletes identities that will move to other customers or be inserted again. */
export async function deleteIdentities(
  tx: Db,
  identities: readonly Pick<CustomerIdentity, 'companyId' | 'customerId' | 'identity'>[],
): Promise<void> {
  await tx`
    delete from customer_identities
    using ${inputRows(identities, { bigint: ['companyId', 'customerId'], text: ['identity'] })}
    where (customer_identities.company_id, customer_identities.customer_id, customer_identities.identity)
      = (input.company_id, input.customer_id, input.identity)
  `
}

/** Stores keyed hashes of erased messages' wamids or erased identities. */
export async function keepErasedKeys(tx: Db, companyId: number, keys: readonly string[]): Promise<void> {
  await tx`
    insert into erased_keys (company_id, hash)
    select distinct ${companyId}::bigint, keyed_hash(${companyId}, key)
    from unnest(${[...keys]}::text[]) as key
    on conflict (company_id, hash) do update set erased_at = excluded.erased_at
  `
}

type EventSubject = {
  readonly companyId: number
  readonly wamids: readonly (string | null)[]
  readonly identities: readonly string[]
  readonly arrivedAt: Date
}

/** Returns whether each event is about erased data. Without identity locks, can miss a concurrent erasure. */
export async function listErased(db: Db, subjects: readonly EventSubject[]): Promise<boolean[]> {
  const rows = subjects.map(({ companyId, wamids, identities, arrivedAt }, place) => ({
    place,
    companyId,
    wamids: wamids.filter((wamid) => wamid !== null),
    identities,
    arrivedAt,
  }))
  const erased = await db<{ place: number }[]>`
    select place
    from ${inputRows(rows, {
      integer: ['place'],
      bigint: ['companyId'],
      'text[]': ['wamids', 'identities'],
      timestamptz: ['arrivedAt'],
    })}
    where is_erased(company_id, wamids, identities, arrived_at)
  `
  const places = new Set(erased.map(({ place }) => place))
  return subjects.map((_, place) => places.has(place))
}

/** Returns the companies with an erasure in the last 30 days. */
export async function listErasing(db: Db, companyIds: readonly number[]): Promise<number[]> {
  const rows = await db<{ companyId: number }[]>`
    select company.id as company_id
    from unnest(${[...companyIds]}::bigint[]) as company (id)
    where exists (select from erased_keys where erased_keys.company_id = company.id)
  `
  return rows.map(({ companyId }) => companyId)
}

export const freeHolders = (companyId: Fragment, customerId: Fragment): Fragment => sql`
  select identity.identity, holder.id, holder.phone
  from customer_identities identity
  cross join lateral (${freeHolder(sql`identity.company_id`, sql`identity.identity`)}) as holder
  where (identity.company_id, identity.customer_id) = (${companyId}, ${customerId})
    and identity.identity ~ '^[0-9]'
    and identity.retired_at is null
`

export const freeHolder = (companyId: Fragment, identity: Fragment): Fragment => sql`
  select contacts.id, contacts.phone
  from contacts
  where contacts.company_id = ${companyId}
    and contacts.phone_identity = ${identity}
    and contacts.deleted_at is null
    and not exists (
      select from customers attached
      where (attached.company_id, attached.contact_id) = (contacts.company_id, contacts.id)
    )
  order by contacts.id
  limit 1
`

/**
 * Finds a ledger entry under an identity (a query with one column), its keyed hash, or a contact with this number.
 * Lateral with limits forces index probes, whatever the statistics.
 */
export const isInLedger = (identities: Fragment): Fragment => sql`
  exists (
    select
    from (${identities}) as own (identity)
    cross join lateral (
      (
        select true
        from unnest(array[own.identity, keyed_hash(input.company_id, own.identity)]) as form (identity)
        join consents on (consents.company_id, consents.identity) = (input.company_id, form.identity)
        limit 1
      )
      union all
      (
        select true
        from contacts
        join consents on (consents.company_id, consents.contact_id) = (contacts.company_id, contacts.id)
        where (contacts.company_id, contacts.phone_identity) = (input.company_id, own.identity)
          and contacts.deleted_at is null
        limit 1
      )
    ) as entry
  )
`
