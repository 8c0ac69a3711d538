import { expect, test } from 'vitest'
import { BY, startUpserts } from '../../../test/contacts/upsert-world.ts'
import { holdOpen } from '../../../test/held-locks.ts'
import type { ContactWrite } from '../../people/contact-record.ts'
import { lockCustomers } from '../../people/customer-store.ts'
import { upsertContacts } from './contact-upsert.ts'

const { db, pools, newCompany, peopleOf, checkHouse, upsert, countWrites } = await startUpserts()

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
