import { expect } from 'vitest'
import type { Pool } from '../src/db/connect.ts'
import { createCompany } from './world.ts'

const SENDER = 1
const AT = new Date('2026-01-02T00:00:00Z')

/** The rows of a company that lead from identities to contacts and conversations. */
export type Identities = {
  /** Id, phone identity, lines of the searchable text. */
  contacts: [number, string | null, string][]
  /** Id, contact, phone. */
  customers: [number, number, string | null][]
  /** Identity, customer, whether it is retired. */
  identities: [string, number, boolean?][]
  /** Id, customer, status, user id. */
  conversations: [number, number, string, (string | null)?][]
}

/**
 * Two companies whose rows are the same, ids included. `change` runs a statement for the first one, proves that the second
 * stays as it was, and returns the rows of the first.
 */
export async function createTwins(db: Pool, input: Partial<Identities> = {}) {
  const [companyId, twinId] = [await createCompany(db, 'one'), await createCompany(db, 'twin')]
  for (const id of [companyId, twinId]) await fill(db, id, input)
  const change = async (statement: (companyId: number) => Promise<unknown>): Promise<Identities> => {
    const before = await identitiesOf(db, twinId)
    await statement(companyId)
    expect(await identitiesOf(db, twinId)).toEqual(before)
    return await identitiesOf(db, companyId)
  }
  return { companyId, twinId, senderId: SENDER, change }
}

async function fill(db: Pool, companyId: number, input: Partial<Identities>): Promise<void> {
  await db`
    insert into senders (
      company_id, id, provider, phone_number, phone, phone_name, phone_number_id, waba_account_id, access_token
    )
    overriding system value
    values (${companyId}, ${SENDER}, 'meta', '+1', '1', 'Acme', ${`PN${companyId}`}, 'WABA', 'secret')
  `
  await db`insert into sender_limits (company_id, sender_id) values (${companyId}, ${SENDER})`
  for (const [id, phone, text] of input.contacts ?? []) {
    await db`
      insert into contacts (company_id, id, phone, phone_identity, search_text, source, source_type)
      values (${companyId}, ${id}, ${phone}, ${phone}, ${text}, 'test', 'test')
    `
  }
  for (const [id, contactId, phone] of input.customers ?? []) {
    await db`
      insert into customers (company_id, id, contact_id, phone) values (${companyId}, ${id}, ${contactId}, ${phone})
    `
  }
  for (const [identity, customerId, isRetired = false] of input.identities ?? []) {
    const account = /^[A-Z]/.test(identity) ? 'WABA' : null
    await db`
      insert into customer_identities (company_id, customer_id, identity, account, reported_at, retired_at, left_at)
      values (
        ${companyId}, ${customerId}, ${identity}, ${account}, ${AT}, ${isRetired ? AT : null}, ${isRetired ? AT : null}
      )
    `
  }
  for (const [id, customerId, status, userId = null] of input.conversations ?? []) {
    await db`
      insert into conversations (company_id, id, sender_id, customer_id, status, user_id)
      overriding system value
      values (${companyId}, ${id}, ${SENDER}, ${customerId}, ${status}, ${userId})
    `
    await db`
      insert into conversation_activity (company_id, conversation_id, active_at, sender_id, status)
      values (${companyId}, ${id}, ${AT}, ${SENDER}, ${status})
    `
  }
}

async function identitiesOf(db: Pool, companyId: number): Promise<Identities> {
  const [row] = await db<[Identities]>`
    select
      (
        select coalesce(jsonb_agg(jsonb_build_array(id, phone_identity, search_text) order by id), '[]')
        from contacts where company_id = ${companyId}
      ) as contacts,
      (
        select coalesce(jsonb_agg(jsonb_build_array(id, contact_id, phone) order by id), '[]')
        from customers where company_id = ${companyId}
      ) as customers,
      (
        select coalesce(
          jsonb_agg(jsonb_build_array(identity, customer_id, retired_at is not null) order by identity, customer_id), '[]'
        )
        from customer_identities where company_id = ${companyId}
      ) as identities,
      (
        select coalesce(jsonb_agg(jsonb_build_array(id, customer_id, status, user_id) order by id), '[]')
        from conversations where company_id = ${companyId}
      ) as conversations
  `
  return row
}

/** All rows of a company, by table. */
export async function rowsOf(db: Pool, companyId: number): Promise<Record<string, unknown>> {
  const tables = await db<{ name: string }[]>`
    select c.relname as name
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'company_id'
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
    order by c.relname
  `
  const found: Record<string, unknown> = {}
  for (const { name } of tables) {
    const [row] = await db`
      select jsonb_agg(to_jsonb(t) order by to_jsonb(t)) as rows from ${db(name)} t where company_id = ${companyId}
    `
    if (row?.rows !== null) found[name] = row?.rows
  }
  return found
}

/** Runs a statement for another company, and proves that no row of this one changes. */
export async function keepsRows<Result>(
  db: Pool,
  companyId: number,
  statement: () => Promise<Result>,
): Promise<Result> {
  const before = await rowsOf(db, companyId)
  expect(Object.keys(before)).not.toEqual([])
  const result = await statement()
  expect(await rowsOf(db, companyId)).toEqual(before)
  return result
}

/** Counts customer 1 against the daily limit, for message 1, so many hours ago. */
export async function countCustomer(db: Pool, companyId: number, hours: number): Promise<void> {
  await db`insert into daily_limits (company_id, scope, used) values (${companyId}, 'sender:1', 1)`
  await db`
    insert into daily_limit_entries (company_id, scope, customer_id, message_id, counted_at)
    values (${companyId}, 'sender:1', 1, 1, now() - make_interval(hours => ${hours}))
  `
}
