import fc from 'fast-check'
import { afterAll, expect } from 'vitest'
import { readContactCount } from '../../src/contacts/search/contact-list.ts'
import { upsertContacts } from '../../src/contacts/write/contact-upsert.ts'
import { connect, type Pool } from '../../src/db/connect.ts'
import type { Contact, ContactWrite } from '../../src/people/contact-record.ts'
import { insertCustomerContacts, takeContactIds } from '../../src/people/contact-store.ts'
import { lockCustomers } from '../../src/people/customer-store.ts'
import { AppError } from '../../src/platform/errors.ts'
import { phoneIdentity } from '../../src/platform/text/phone.ts'
import { createTestDatabase } from '../database.ts'

export const BY = { clientId: null, source: 'api' }

/** The rule of the specification, one write after another, over people without ids: oldest first. */
export type Person = { email: string | undefined; phone: string | undefined }

export function applySequentially(people: readonly Person[], write: Person): Person[] {
  const byEmail = people.findIndex((person) => write.email !== undefined && person.email === write.email)
  const byPhone = people.findIndex(
    (person) => write.phone !== undefined && phoneIdentity(person.phone ?? '') === phoneIdentity(write.phone),
  )
  const place = byEmail !== -1 ? byEmail : byPhone
  if (place === -1) return [...people, write]
  return people.map((person, index) =>
    index === place ? { email: write.email ?? person.email, phone: write.phone ?? person.phone } : person,
  )
}

export const keyOf = (people: readonly Person[]): string =>
  JSON.stringify(people.map((person) => [person.email ?? null, person.phone ?? null]))

/** Returns every possible final state over all orders of the writes. */
export function reachableEnds(writes: readonly Person[]): Set<string> {
  const ends = new Set<string>()
  const walk = (people: readonly Person[], rest: readonly Person[]) => {
    if (rest.length === 0) ends.add(keyOf(people))
    rest.forEach((write, index) => {
      walk(applySequentially(people, write), rest.toSpliced(index, 1))
    })
  }
  walk([], writes)
  return ends
}

/** Returns every state reachable by applying these writes in any order, any number of times. */
export function reachableStates(writes: readonly Person[]): Set<string> {
  const seen = new Map<string, readonly Person[]>([[keyOf([]), []]])
  for (const people of seen.values()) {
    for (const write of writes) {
      const next = applySequentially(people, write)
      seen.set(keyOf(next), next)
    }
  }
  return new Set(seen.keys())
}

export const toWrite = (person: Person): ContactWrite => ({
  ...(person.email !== undefined && { email: person.email }),
  ...(person.phone !== undefined && { phone: person.phone }),
})

const EMAILS = ['a@x.org', 'b@x.org', 'c@x.org', undefined]

const PHONES = ['393330000001', '5511987654321', '551187654321', undefined]

export const person = fc
  .record({ email: fc.constantFrom(...EMAILS), phone: fc.constantFrom(...PHONES) })
  .filter((one) => one.email !== undefined || one.phone !== undefined)

export const outcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => String(error.status ?? error),
  )

/** Finds or creates contacts the way a send does. */
export const meet = (pool: Pool, companyId: number, phones: string[]): Promise<string> =>
  outcome(
    pool.begin(async (tx) => {
      const keys = phones.map((phone) => ({ companyId, identity: phoneIdentity(phone), phone }))
      await lockCustomers(tx, keys)
      for (const { identity, phone } of keys) {
        const holders = await tx`
          select from contacts
          where (company_id, phone_identity) = (${companyId}, ${identity}) and deleted_at is null
        `
        if (holders.length > 0) continue
        const [id = 0] = await takeContactIds(tx, 1)
        await insertCustomerContacts(tx, [
          { companyId, id, identity, phone, source: 'WhatsApp', sourceType: 'service' },
        ])
      }
    }),
  )

/** A database that four pools share as processes do, with the helpers of tests that upsert contacts. */
export async function startUpserts() {
  const { db, url } = await createTestDatabase({ mirrors: true })
  /** Each pool simulates a process. */
  const pools = Array.from({ length: 4 }, () => connect(url, { max: 8 }))
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
  })
  async function newCompany(): Promise<number> {
    const [row] = await db<{ id: number }[]>`insert into companies (name) values ('Ada') returning id`
    return row!.id
  }
  async function peopleOf(companyId: number): Promise<Person[]> {
    const rows = await db<{ email: string | null; phone: string | null }[]>`
    select email, phone from contacts where company_id = ${companyId} and deleted_at is null order by id
  `
    return rows.map((row) => ({ email: row.email ?? undefined, phone: row.phone ?? undefined }))
  }
  /** Checks invariants: identities lead to the oldest living contact with a phone, and the count is right. */
  async function checkHouse(companyId: number): Promise<void> {
    const wrong = await db`
    with matched as (
      select phone_identity as identity, min(id) as contact_id
      from contacts
      where company_id = ${companyId} and deleted_at is null and phone_identity is not null
      group by phone_identity
    )
    select *
    from matched
    full join (
      select distinct on (phone_identity) phone_identity as identity, id as contact_id
      from contacts
      where company_id = ${companyId} and deleted_at is null and phone_identity is not null
      order by phone_identity, id
    ) as owner using (identity)
    where matched.contact_id is distinct from owner.contact_id
  `
    expect([...wrong]).toEqual([])
    const twins = await db`
    select phone_identity
    from contacts
    where company_id = ${companyId} and deleted_at is null and email is null
    group by phone_identity
    having count(*) > 1
  `
    expect([...twins]).toEqual([])
    const rows = await db<{ phone: string | null; phoneIdentity: string | null }[]>`
    select phone, phone_identity from contacts where company_id = ${companyId}
  `
    for (const row of rows) expect(row.phoneIdentity).toBe(row.phone === null ? null : phoneIdentity(row.phone))
    expect(await readContactCount(db, companyId)).toBe((await peopleOf(companyId)).length)
  }
  /** Retries lock timeouts like a client; how soon they occur depends on the machine. */
  async function upsert(companyId: number, index: number, writes: Person[]): Promise<Contact[]> {
    for (;;) {
      try {
        return await upsertContacts(pools[index % pools.length]!, companyId, writes.map(toWrite), BY)
      } catch (error) {
        if (!(error instanceof AppError && error.status === 503)) throw error
      }
    }
  }
  /** Counts writes to contact rows, except mirrors, during the work. No other work may run meanwhile. */
  async function countWrites(work: () => Promise<unknown>): Promise<number> {
    const pool = pools[0]!
    const read = async () => {
      const [row] = await pool.begin(async (tx) => {
        await tx`select pg_stat_force_next_flush()`
        return tx<{ count: number }[]>`
        select (n_tup_ins + n_tup_upd)::int / 2 as count from pg_stat_user_tables where relname = 'contacts'
      `
      })
      return row!.count
    }
    // Resets all connections, since an idle one may keep counts from an earlier test.
    const flush = () =>
      Promise.all(
        pools.flatMap((one) => Array.from({ length: 8 }, () => one`select pg_stat_force_next_flush(), pg_sleep(0.05)`)),
      )
    await flush()
    const before = await read()
    await work()
    await flush()
    return (await read()) - before
  }
  return { db, pools, newCompany, peopleOf, checkHouse, upsert, countWrites }
}
