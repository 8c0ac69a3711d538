import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { holdOpen } from '../../../test/held-locks.ts'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import { connect, type Pool } from '../../db/connect.ts'
import { takeContactIds } from '../../people/contact-store.ts'
import { insertCustomerContacts } from '../../people/customer-contact-store.ts'
import { lockCustomers } from '../../people/customer-lock-store.ts'
import type { Contact, ContactWrite } from '../../people/members/contact-record.ts'
import { AppError } from '../../platform/errors.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'
import { removeContact, updateContact } from '../contact.ts'
import { readContactCount } from '../search/contact-count-store.ts'
import { upsertContacts } from './contact-upsert.ts'

const BY = { clientId: null, source: 'api' }

let db: Pool
/** Each pool simulates a process. */
let pools: Pool[]

beforeAll(async () => {
  const database = await createTestDatabase({ mirrors: true })
  db = database.db
  pools = Array.from({ length: 4 }, () => connect(database.url, { max: 8 }))
})

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()))
})

async function newCompany(): Promise<number> {
  const [row] = await db<{ id: number }[]>`insert into companies (name) values ('Ada') returning id`
  return row!.id
}

/** The rule of the specification, one write after another, over people without ids: oldest first. */
type Person = { email: string | undefined; phone: string | undefined }

function applySequentially(people: readonly Person[], write: Person): Person[] {
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

const keyOf = (people: readonly Person[]): string =>
  JSON.stringify(people.map((person) => [person.email ?? null, person.phone ?? null]))

/** Returns every possible final state over all orders of the writes. */
function reachableEnds(writes: readonly Person[]): Set<string> {
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
function reachableStates(writes: readonly Person[]): Set<string> {
  const seen = new Map<string, readonly Person[]>([[keyOf([]), []]])
  for (const people of seen.values()) {
    for (const write of writes) {
      const next = applySequentially(people, write)
      seen.set(keyOf(next), next)
    }
  }
  return new Set(seen.keys())
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

const toWrite = (person: Person): ContactWrite => ({
  ...(person.email !== undefined && { email: person.email }),
  ...(person.phone !== undefined && { phone: person.phone }),
})

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

test.each([
  ['one email', [{ email: 'a@x.org', phone: undefined }]],
  ['one phone', [{ email: undefined, phone: '393330000001' }]],
  [
    'one phone written in two ways',
    [
      { email: undefined, phone: '5511987654321' },
      { email: undefined, phone: '551187654321' },
    ],
  ],
  [
    'emails and phones crossing over',
    [
      { email: 'a@x.org', phone: '393330000001' },
      { email: 'a@x.org', phone: '393330000002' },
      { email: 'b@x.org', phone: '393330000001' },
      { email: 'b@x.org', phone: '393330000002' },
      { email: 'a@x.org', phone: undefined },
      { email: undefined, phone: '393330000002' },
    ],
  ],
] as [string, Person[]][])('200 parallel upserts of %s end as some order would', async (_, kinds) => {
  const companyId = await newCompany()
  const calls = Array.from({ length: 200 }, (_, index) => upsert(companyId, index, [kinds[index % kinds.length]!]))
  const answers = await Promise.all(calls)
  expect(answers.every((answer) => answer.length === 1)).toBe(true)
  expect(reachableStates(kinds)).toContain(keyOf(await peopleOf(companyId)))
  await checkHouse(companyId)
})

const EMAILS = ['a@x.org', 'b@x.org', 'c@x.org', undefined]
const PHONES = ['393330000001', '5511987654321', '551187654321', undefined]
const person = fc
  .record({ email: fc.constantFrom(...EMAILS), phone: fc.constantFrom(...PHONES) })
  .filter((one) => one.email !== undefined || one.phone !== undefined)

test('any few upserts at once end as one of their orders would', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(person, { minLength: 2, maxLength: 5 }), async (writes) => {
      const companyId = await newCompany()
      await Promise.all(writes.map((write, index) => upsert(companyId, index, [write])))
      expect(reachableEnds(writes)).toContain(keyOf(await peopleOf(companyId)))
      await checkHouse(companyId)
    }),
    { numRuns: propertyRuns(10) },
  )
})

test('an array does what its items do one after another', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(person, { minLength: 1, maxLength: 12 }), async (writes) => {
      const companyId = await newCompany()
      const answers = await upsert(companyId, 0, writes)
      expect(keyOf(await peopleOf(companyId))).toBe(keyOf(writes.reduce<Person[]>(applySequentially, [])))
      expect(answers).toHaveLength(writes.length)
      for (const [index, write] of writes.entries()) expect(answers[index]).toMatchObject(toWrite(write))
      await checkHouse(companyId)
    }),
    { numRuns: propertyRuns(10) },
  )
})

test('arrays, sends to the same phones, updates and deletions at once: no deadlock, and consistent rows', async () => {
  const companyId = await newCompany()
  const phones = Array.from({ length: 12 }, (_, i) => `39333000000${String(i).padStart(2, '0')}`)
  const emails = Array.from({ length: 12 }, (_, i) => `mix${i}@x.org`)
  const random = (seed: number) => (seed * 7919) % 12
  const work = Array.from({ length: 200 }, async (_, index): Promise<string> => {
    const pool = pools[index % pools.length]!
    const one = { email: emails[random(index)]!, phone: phones[random(index + 5)]! }
    const other = { email: emails[random(index + 3)]!, phone: phones[random(index * 3)]! }
    if (index % 5 === 0) return meet(pool, companyId, [one.phone, other.phone])
    if (index % 5 === 1) return outcome(upsert(companyId, index, [one, other, one]))
    if (index % 5 === 2) return outcome(upsert(companyId, index, [one]))
    const [anybody] = await pool<{ id: number }[]>`
      select id from contacts where company_id = ${companyId} and deleted_at is null order by random() limit 1
    `
    if (anybody === undefined) return 'nobody'
    if (index % 5 === 3) return outcome(updateContact(pool, companyId, anybody.id, other, BY))
    return outcome(removeContact(pool, companyId, anybody.id))
  })
  const outcomes = new Set(await Promise.all(work))
  expect([...outcomes].filter((one) => !['done', '404', '409', 'nobody'].includes(one))).toEqual([])
  await checkHouse(companyId)
})

const outcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => String(error.status ?? error),
  )

/** Finds or creates contacts the way a send does. */
const meet = (pool: Pool, companyId: number, phones: string[]): Promise<string> =>
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

test('200 parallel upserts and sends to one new phone make one contact', async () => {
  const companyId = await newCompany()
  const phone = '5215512345678'
  const work = Array.from({ length: 200 }, (_, index) =>
    index % 2 === 0
      ? meet(pools[index % pools.length]!, companyId, ['525512345678'])
      : outcome(upsert(companyId, index, [{ email: `e${index % 3}@x.org`, phone }])),
  )
  expect(new Set(await Promise.all(work))).toEqual(new Set(['done']))
  await checkHouse(companyId)
  const people = await peopleOf(companyId)
  expect(people).toHaveLength(1)
})

test('a contact that a send made is found by search and renamed by an upsert of its phone', async () => {
  const companyId = await newCompany()
  await meet(db, companyId, ['5491112345678'])
  const [contact] = await upsert(companyId, 0, [{ email: 'found@x.org', phone: '541112345678' }])
  expect(contact).toMatchObject({
    email: 'found@x.org',
    phone: '541112345678',
    source: 'WhatsApp',
    sourceType: 'service',
  })
  await checkHouse(companyId)
})

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

test('an array writes each contact once, however often emails and phones alternate', async () => {
  const companyId = await newCompany()
  const phone = '393339990000'
  const alternating = Array.from({ length: 1000 }, (_, i) => ({ email: `e${i % 2}@x.org`, phone }))
  expect(await countWrites(() => upsert(companyId, 0, alternating))).toBe(1)
  expect(await peopleOf(companyId)).toEqual([{ email: 'e1@x.org', phone }])

  const twins = await newCompany()
  const holders = Array.from({ length: 500 }, (_, i) => ({ email: `t${i}@x.org`, phone: `3933400${1000 + i}` }))
  await upsert(twins, 0, holders)
  await upsert(
    twins,
    0,
    holders.map(({ email }) => ({ email, phone })),
  )
  // Each holder of the phone is matched by it, takes an email and then leaves for another phone.
  const leaving = Array.from({ length: 500 }, (_, i) => [
    { email: `l${i}@x.org`, phone },
    { email: `l${i}@x.org`, phone: `3933500${1000 + i}` },
  ]).flat()
  expect(await countWrites(() => upsert(twins, 0, leaving))).toBe(500)
  expect(await peopleOf(twins)).toEqual(holders.map((_, i) => ({ email: `l${i}@x.org`, phone: `3933500${1000 + i}` })))
})

test('contacts hand their emails on within one array', async () => {
  const companyId = await newCompany()
  const [a, b] = ['393331000001', '393331000002']
  await upsert(companyId, 0, [
    { email: 'a@x.org', phone: a },
    { email: 'b@x.org', phone: b },
  ])
  await upsert(companyId, 0, [
    { email: 'c@x.org', phone: a },
    { email: 'a@x.org', phone: b },
    { email: 'b@x.org', phone: a },
  ])
  expect(await peopleOf(companyId)).toEqual([
    { email: 'b@x.org', phone: a },
    { email: 'a@x.org', phone: b },
  ])
})

test('writes that wait for a lock hold no connection, and do not delay other companies', async () => {
  const [companyId, other] = [await newCompany(), await newCompany()]
  const phone = '393331230000'
  const pool = pools[0]!
  const release = await holdOpen(pools[1]!, (tx) => lockCustomers(tx, [{ companyId, identity: phone }]))
  const array = Array.from({ length: 1000 }, (_, i) => ({ email: `w${i}@x.org`, phone }))
  const waiting = [
    ...Array.from({ length: 12 }, () => upsert(companyId, 0, array)),
    ...Array.from({ length: 40 }, (_, i) => upsert(companyId, 0, [{ email: `w${i}@x.org`, phone }])),
  ]
  for (let look = 0; look < 20; look += 1) {
    await upsert(
      other,
      0,
      Array.from({ length: 100 }, (_, i) => ({ email: `o${look}-${i}@x.org`, phone: undefined })),
    )
    const [row] = await pool<{ blocked: number }[]>`
      select count(*) as blocked from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    `
    expect(row!.blocked).toBe(0)
  }
  await release()
  await Promise.all(waiting)
  expect(await peopleOf(companyId)).toHaveLength(1)
  await checkHouse(companyId)
})

test('many large arrays at once hold no more locks than one of them needs', { timeout: 600_000 }, async () => {
  const companyId = await newCompany()
  const arrays = Array.from({ length: 6 }, (_, array) =>
    Array.from({ length: 1000 }, (_, i) => ({
      email: `l${array % 2}-${i}@x.org`,
      phone: `3934${array % 3}000${1000 + i}`,
    })),
  )
  let most = 0
  let isDone = false
  const watch = (async () => {
    while (!isDone) {
      const [row] = await db<{ held: number }[]>`select count(*) as held from pg_locks where locktype = 'advisory'`
      most = Math.max(most, row!.held)
      await sleep(20)
    }
  })()
  const answers = await Promise.all(arrays.map((writes, index) => upsert(companyId, index, writes))).finally(() => {
    isDone = true
    return watch
  })
  expect(answers.map((answer) => answer.length)).toEqual(arrays.map(() => 1000))
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThan(5000)
  await checkHouse(companyId)
})

test('an array that names one person 1,000 times ends as the last says, with every change of consent', async () => {
  const companyId = await newCompany()
  const writes = Array.from({ length: 1_000 }, (_, i) => ({
    ...(i % 3 === 0 ? { email: 'ada@example.com' } : { phone: '393331110000' }),
    ...(i === 3 && { phone: '393331110000' }),
    firstName: `Name ${i}`,
    emailConsent: i % 2 === 0,
  }))
  const contacts = await upsertContacts(db, companyId, writes, BY)
  // Another contact had the phone before Ada. It would still match if it were older than Ada; it is not.
  const [ada] = contacts
  expect(contacts.map((contact) => contact.firstName)).toEqual(writes.map((write) => write.firstName))
  expect(contacts.map((contact) => contact.emailConsent)).toEqual(writes.map((write) => write.emailConsent))
  expect(new Set(contacts.slice(3).map((contact) => contact.id))).toEqual(new Set([ada!.id]))
  const kept = await db`select contact_id, value from consents where company_id = ${companyId} order by id`
  const ofAda = contacts.flatMap(({ id }, place) => (id === ada!.id ? [writes[place]!.emailConsent] : []))
  expect(kept.filter((change) => change.contactId === ada!.id).map((change) => change.value)).toEqual(
    ofAda.filter((value, place) => value !== ofAda[place - 1]),
  )
})

test('addresses and phones that are given up within an array', async () => {
  const apart = await newCompany()
  const together = await newCompany()
  const writes: ContactWrite[] = [
    { email: 'a@example.com', phone: '393331110001' },
    { email: 'b@example.com', phone: '393331110001' },
    { email: 'c@example.com', phone: '393331110001' },
    { email: 'b@example.com', phone: '393331110002' },
    { phone: '393331110001', firstName: 'who' },
    { phone: '393331110002', firstName: 'other' },
    { email: 'a@example.com', firstName: 'new' },
    { email: 'c@example.com', firstName: 'c' },
  ]
  const one: unknown[] = []
  for (const write of writes) one.push(...(await upsertContacts(db, apart, [write], BY)))
  const all = await upsertContacts(db, together, writes, BY)
  const plain = (contacts: readonly unknown[]) => {
    const ids = new Map<unknown, number>()
    return (contacts as Record<string, unknown>[]).map(({ id, createdAt, updatedAt, ...rest }) => {
      if (!ids.has(id)) ids.set(id, ids.size)
      return { ...rest, person: ids.get(id) }
    })
  }
  expect(plain(all)).toEqual(plain(one))
})
