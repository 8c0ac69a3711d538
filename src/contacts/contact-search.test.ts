import { beforeAll, describe, expect, test } from 'vitest'
import { createTestCompany } from '../../test/api.ts'
import { createTestDatabase } from '../../test/database.ts'
import type { Pool } from '../db/connect.ts'
import { removeContact, updateContact } from './contact.ts'
import { createFolder } from './contact-fold.ts'
import { CONTACT_SORTS, type ContactListRequest, listContacts } from './contact-list.ts'
import { upsertContacts } from './contact-upsert.ts'

const BY = { clientId: null, source: 'api' }
/** More than are looked through to learn whether many match, so that the index is asked. */
const CROWD = 2_500

let db: Pool
let companyId: number
let others: number

const list = (given: Partial<ContactListRequest>, company = companyId) =>
  listContacts(db, company, { page: 1, limit: 25, search: '', sort: '-created_at', ...given })
const found = async (search: string, company = companyId) =>
  (await list({ search }, company)).contacts.map(({ email, phone }) => email ?? phone)

beforeAll(async () => {
  ;({ db } = await createTestDatabase())
  companyId = await createTestCompany(db)
  others = await createTestCompany(db)
  for (const company of [companyId, others]) {
    await upsertContacts(
      db,
      company,
      [
        { email: 'ada@example.com', firstName: 'Ada', lastName: "O'Hara \\ Q" },
        { email: 'li@example.com', firstName: '李', lastName: '明' },
        { phone: '393331112222', firstName: 'Zoë 🙂' },
      ],
      BY,
    )
    const crowd = Array.from({ length: CROWD }, (_, i) =>
      i % 3 === 0 ? { phone: `4470${10_000 + i}` } : { email: `m${i}@b.org` },
    )
    for (let at = 0; at < CROWD; at += 500) await upsertContacts(db, company, crowd.slice(at, at + 500), BY)
  }
}, 60_000)

describe.each(['before', 'after'])('%s the index knows', (when) => {
  beforeAll(async () => {
    if (when === 'after') await createFolder(db)()
    const waiting = await db`select from contact_changes`
    expect(waiting.length > 0).toBe(when === 'before')
  }, 60_000)

  test.each([
    ['ADA', ['ada@example.com']],
    ["o'hara \\ q", ['ada@example.com']],
    ["'", ['ada@example.com']],
    ['\\', ['ada@example.com']],
    ['q', ['ada@example.com']],
    ['李', ['li@example.com']],
    ['李 明', ['li@example.com']],
    ['🙂', ['393331112222']],
    ['ë', ['393331112222']],
    ['+39 333 111-2222', ['393331112222']],
    ['example.com', ['li@example.com', 'ada@example.com']],
    ['%', []],
    ['zq', []],
    ['nobody at all', []],
  ])('%s finds %j, in one company', async (search, people) => {
    expect((await found(search)).toSorted()).toEqual(people.toSorted())
    expect((await found(search, others)).toSorted()).toEqual(people.toSorted())
  })

  test('what many have is found, and counted', async () => {
    const { contacts, total, totalIsExact } = await list({ search: 'b.org' })
    expect(contacts).toHaveLength(25)
    expect([total, totalIsExact]).toEqual([Math.ceil((CROWD * 2) / 3) - 1, true])
  })
})

test('a new name is found at once and the old one no more, as is who was deleted', async () => {
  const company = await createTestCompany(db)
  const [contact] = await upsertContacts(db, company, [{ email: 'x@example.com', firstName: 'Grace' }], BY)
  const crowd = Array.from({ length: 1_000 }, (_, i) => ({ email: `m${i}@b.org` }))
  for (const at of [0, 1, 2]) {
    await upsertContacts(
      db,
      company,
      crowd.map(({ email }) => ({ email: `${at}${email}` })),
      BY,
    )
  }
  const finds = async () => [await found('grace', company), await found('hopper', company)]
  for (const isFolded of [false, true]) {
    if (isFolded) await createFolder(db)()
    expect(await finds()).toEqual([['x@example.com'], []])
  }
  await updateContact(db, company, contact!.id, { firstName: 'Hopper' }, BY)
  expect(await finds()).toEqual([[], ['x@example.com']])
  await createFolder(db)()
  expect(await finds()).toEqual([[], ['x@example.com']])
  await removeContact(db, company, contact!.id)
  expect(await finds()).toEqual([[], []])
  await createFolder(db)()
  expect(await finds()).toEqual([[], []])
  expect((await list({}, company)).total).toBe(3_000)
})

test.each(CONTACT_SORTS)('sorted by %s, pages by number and by cursor are the same, to the end', async (sort) => {
  const limit = 100
  const whole: number[] = []
  const pages = Math.ceil((CROWD + 3) / limit)
  for (let page = 1; page <= pages; page += 1) {
    const byNumber = await list({ page, limit, sort })
    const ids = byNumber.contacts.map(({ id }) => id)
    const side = sort.startsWith('-') ? ('before' as const) : ('after' as const)
    const last = whole.at(-1)
    if (last !== undefined) {
      const byCursor = await list({ limit, sort, cursor: { side, id: last } })
      expect(byCursor.contacts.map(({ id }) => id)).toEqual(ids)
      expect(byCursor.hasNext).toBe(page < pages)
    }
    expect([byNumber.hasNext, byNumber.hasPrevious]).toEqual([page < pages, page > 1])
    whole.push(...ids)
  }
  expect(new Set(whole).size).toBe(CROWD + 3)
  expect((await list({ page: pages + 1, limit, sort })).contacts).toEqual([])
  const { contacts } = await list({ limit: 1, page: CROWD + 3, sort })
  expect(contacts.map(({ id }) => id)).toEqual(whole.slice(-1))
})
