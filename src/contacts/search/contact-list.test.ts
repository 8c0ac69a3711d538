import { beforeAll, describe, expect, test } from 'vitest'
import { createTestCompany } from '../../../test/api.ts'
import { createTestDatabase, readsOf } from '../../../test/database.ts'
import { writeUnmirrored } from '../../../test/run/mirrors.ts'
import type { Pool } from '../../db/connect.ts'
import { removeContact, updateContact } from '../contact.ts'
import { upsertContacts } from '../write/contact-upsert.ts'
import { CONTACT_SORTS, type ContactListRequest, listContacts, parseSort } from './contact-list.ts'
import { EXAMINED } from './contact-list-store.ts'
import { parseCursor } from './contact-query.ts'

const BY = { clientId: null, source: 'api' }
/** More than the sample, so that the index is used. */
const CONTACTS = 2_500

let db: Pool
let companyId: number
let others: number

const list = (options: Partial<ContactListRequest>, company = companyId) =>
  listContacts(db, company, { page: 1, limit: 25, search: '', sort: '-created_at', ...options })
const found = async (search: string, company = companyId) =>
  (await list({ search }, company)).contacts.map(({ email, phone }) => email ?? phone)

beforeAll(async () => {
  ;({ db } = await createTestDatabase({ mirrors: true }))
  companyId = await createTestCompany(db)
  others = await createTestCompany(db)
  for (const company of [companyId, others]) {
    await upsertContacts(
      db,
      company,
      [
        { email: 'ada@example.com', firstName: 'Ada', lastName: "O'Hara \\ Q" },
        { email: 'li@example.com', firstName: '李', lastName: '明' },
        { phone: '393331112222', firstName: 'Zoë  🙂' },
      ],
      BY,
    )
    const many = Array.from({ length: CONTACTS }, (_, i) =>
      i % 3 === 0 ? { phone: `4470${10_000 + i}` } : { email: `m${i}@b.org` },
    )
    for (let at = 0; at < CONTACTS; at += 500) await upsertContacts(db, company, many.slice(at, at + 500), BY)
  }
}, 300_000)

test.each([
  ['ADA', ['ada@example.com']],
  ["ada  o'hara", ['ada@example.com']],
  ['zoë  🙂', ['393331112222']],
  ["o'hara \\ q", ['ada@example.com']],
  ["'", ['ada@example.com']],
  ['\\', ['ada@example.com']],
  ['q', ['ada@example.com']],
  ['李', ['li@example.com']],
  ['李 明', ['li@example.com']],
  ['🙂', ['393331112222']],
  ['zoe', ['393331112222']],
  ['+39 333 111-2222', ['393331112222']],
  ['example.com', ['li@example.com', 'ada@example.com']],
  ['%', []],
  ['zq', []],
  ['nobody at all', []],
])('%s finds %j, in one company', async (search, people) => {
  expect((await found(search)).toSorted()).toEqual(people.toSorted())
  expect((await found(search, others)).toSorted()).toEqual(people.toSorted())
})

test('a text that many contacts have is found, and counted', async () => {
  const { contacts, total, totalIsExact } = await list({ search: 'b.org' })
  expect(contacts).toHaveLength(25)
  expect([total, totalIsExact]).toEqual([Math.ceil((CONTACTS * 2) / 3) - 1, true])
})

test('a new name is found at once and the old one no more, as is who was deleted', async () => {
  const company = await createTestCompany(db)
  const [contact] = await upsertContacts(db, company, [{ email: 'x@example.com', firstName: 'Grace' }], BY)
  const many = Array.from({ length: 1_000 }, (_, i) => ({ email: `m${i}@b.org` }))
  for (const at of [0, 1, 2]) {
    await upsertContacts(
      db,
      company,
      many.map(({ email }) => ({ email: `${at}${email}` })),
      BY,
    )
  }
  const finds = async () => [await found('grace', company), await found('hopper', company)]
  expect(await finds()).toEqual([['x@example.com'], []])
  await updateContact(db, company, contact!.id, { firstName: 'Hopper' }, BY)
  expect(await finds()).toEqual([[], ['x@example.com']])
  await removeContact(db, company, contact!.id)
  expect(await finds()).toEqual([[], []])
  expect((await list({}, company)).total).toBe(3_000)
})

test.each(CONTACT_SORTS)('sorted by %s, pages by number and by cursor are the same, to the end', async (sort) => {
  const limit = 100
  const whole: number[] = []
  let next: string | null = null
  const pages = Math.ceil((CONTACTS + 3) / limit)
  for (let page = 1; page <= pages; page += 1) {
    const byNumber = await list({ page, limit, sort })
    const ids = byNumber.contacts.map(({ id }) => id)
    const side = sort.startsWith('-') ? ('before' as const) : ('after' as const)
    if (next !== null) {
      const byCursor = await list({
        limit,
        sort,
        cursor: { side, place: parseCursor(next, parseSort(sort).column, side) },
      })
      expect(byCursor.contacts.map(({ id }) => id)).toEqual(ids)
      expect(byCursor.hasNext).toBe(page < pages)
    }
    expect([byNumber.hasNext, byNumber.hasPrevious]).toEqual([page < pages, page > 1])
    whole.push(...ids)
    next = byNumber.nextCursor
  }
  expect(new Set(whole).size).toBe(CONTACTS + 3)
  expect((await list({ page: pages + 1, limit, sort })).contacts).toEqual([])
  const { contacts } = await list({ limit: 1, page: CONTACTS + 3, sort })
  expect(contacts.map(({ id }) => id)).toEqual(whole.slice(-1))
})

/** Reads a list page by page through its cursors; `between` runs after each page. */
async function walk(
  company: number,
  options: Partial<ContactListRequest>,
  between: (page: number) => Promise<unknown>,
) {
  const sort = options.sort ?? '-created_at'
  const side = sort.startsWith('-') ? ('before' as const) : ('after' as const)
  const seen: number[] = []
  let pages = 0
  for (let next: string | null | undefined; next !== null; pages += 1) {
    const place = next === undefined ? undefined : parseCursor(next, parseSort(sort).column, side)
    const page = await list({ limit: 20, ...options, sort, ...(place && { cursor: { side, place } }) }, company)
    expect(page.hasNext).toBe(page.nextCursor !== null)
    seen.push(...page.contacts.map(({ id }) => id))
    next = page.nextCursor
    await between(pages)
  }
  return { seen, pages }
}

describe('a walk along the cursors while contacts change, go and come', () => {
  const EACH = 40

  /** Alternates three kinds of contacts: unchanged, renamed and deleted meanwhile. */
  async function prepare() {
    const company = await createTestCompany(db)
    const kinds = { kept: [] as number[], renamed: [] as number[], removed: [] as number[] }
    for (let at = 0; at < EACH; at += 1) {
      for (const kind of ['kept', 'renamed', 'removed'] as const) {
        const [contact] = await upsertContacts(db, company, [{ email: `${kind}${at}@example.com` }], BY)
        kinds[kind].push(contact!.id)
      }
    }
    const disturb = async (page: number) => {
      for (let at = page * 5; at < Math.min(EACH, page * 5 + 5); at += 1) {
        await updateContact(db, company, kinds.renamed[at]!, { firstName: `After ${page}` }, BY)
        await removeContact(db, company, kinds.removed[EACH - 1 - at]!)
      }
      await upsertContacts(db, company, [{ email: `came${page}@example.com` }], BY)
    }
    return { company, ...kinds, disturb }
  }
  const times = (seen: readonly number[], ids: readonly number[]) =>
    ids.map((id) => seen.filter((one) => one === id).length)

  test.each([
    'created_at',
    '-created_at',
    'email',
    '-email',
  ] as const)('sorted by %s, it sees every contact that exists throughout once', async (sort) => {
    const { company, kept, renamed, disturb } = await prepare()
    const { seen } = await walk(company, { sort }, disturb)
    expect(times(seen, [...kept, ...renamed])).toEqual(Array(2 * EACH).fill(1))
  })

  test('sorted by updated_at, it sees every contact that exists throughout, changed ones again', async () => {
    const { company, kept, renamed, disturb } = await prepare()
    const { seen } = await walk(company, { sort: 'updated_at' }, disturb)
    expect(times(seen, kept)).toEqual(Array(EACH).fill(1))
    expect(Math.min(...times(seen, renamed))).toBeGreaterThanOrEqual(1)
  })

  test('sorted by -updated_at, it sees every unchanged contact once', async () => {
    const { company, kept, disturb } = await prepare()
    const { seen } = await walk(company, { sort: '-updated_at' }, disturb)
    expect(times(seen, kept)).toEqual(Array(EACH).fill(1))
  })
})

describe('a search in 25,000 contacts', () => {
  const MANY = 25_000
  let many: number

  beforeAll(async () => {
    many = await createTestCompany(db)
    await upsertContacts(db, many, [{ email: 'old@example.com', firstName: 'Zq' }], BY)
    await writeUnmirrored(
      db,
      (tx) => tx`
        insert into contacts (company_id, email, email_key, search_text, source, source_type, created_at)
        select
          ${many}, 'p' || i || '@example.com', 'p' || i || '@example.com', E'ada lovelace ' || i || E'\np' || i || '@example.com',
          'API', 'database', now() + i * interval '1 second'
        from generate_series(1, ${MANY}::int) as i
      `,
    )
    await db`insert into contact_changes (company_id, change) values (${many}, ${MANY})`
    await db`analyze contacts`
  }, 300_000)

  test('a search that matches none of the newest contacts reads them once', async () => {
    expect((await read('lovelace ada')).fetched).toBeLessThan(2 * EXAMINED + 5_000)
  })

  const read = async (search: string) =>
    db.begin(async (tx) => {
      const before = await readsOf(tx, 'contacts')
      const page = await listContacts(tx, many, { page: 1, limit: 25, search, sort: '-created_at' })
      const after = await readsOf(tx, 'contacts')
      return { page, scanned: after.scanned - before.scanned, fetched: after.fetched - before.fetched }
    })

  test.each([
    'lovelace ada',
    'zq',
    'example.com lovelace',
    'lovelace 777',
    'ada',
    'a',
    'nobody at all',
    '+39 333',
  ])('%s looks at a bounded number of contacts', async (search) => {
    const { scanned, fetched } = await read(search)
    expect(scanned).toBe(0)
    expect(fetched).toBeLessThan(3 * EXAMINED + 5_000)
  })

  test('few matches are found by the index', async () => {
    const { page, fetched } = await read('lovelace 12345')
    expect(page).toMatchObject({ total: 1, totalIsExact: true, contacts: [{ email: 'p12345@example.com' }] })
    expect(fetched).toBeLessThan(5_000)
  })

  test('goes on along the cursors to the contacts that the first request does not reach', async () => {
    const { page } = await read('zq')
    expect(page).toMatchObject({ contacts: [], total: 0, totalIsExact: false, hasNext: true })
    const { seen, pages } = await walk(many, { search: 'zq' }, async () => {})
    expect(seen).toHaveLength(1)
    expect(pages).toBe(Math.ceil((MANY + 1) / EXAMINED))
  })
})
