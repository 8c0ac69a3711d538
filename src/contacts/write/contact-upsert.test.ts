import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  applySequentially,
  BY,
  keyOf,
  meet,
  outcome,
  type Person,
  person,
  reachableEnds,
  reachableStates,
  startUpserts,
  toWrite,
} from '../../../test/contacts/upsert-world.ts'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import { removeContact, updateContact } from '../contact.ts'

const { db, pools, newCompany, peopleOf, checkHouse, upsert } = await startUpserts()

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
