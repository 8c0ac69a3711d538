import { beforeAll, describe, expect, test } from 'vitest'
import { caller, startContacts, type TestCaller } from '../../test/contacts/contacts-app.ts'

const { db, newCompany, call, upsert } = await startContacts()

describe('the list', () => {
  let own: TestCaller
  beforeAll(async () => {
    own = caller(await newCompany())
    await upsert(
      Array.from({ length: 30 }, (_, i) => ({
        email: `list${String(i).padStart(2, '0')}@x.org`,
        phone: `+4930000${1000 + i}`,
        firstName: i === 7 ? 'Ärger' : 'Person',
        lastName: `No${i}`,
      })),
      own,
    )
    await upsert({ phone: '+4930099999', firstName: '日本太郎' }, own)
  })
  const list = async (query: string) => (await call('GET', `/contacts?${query}`, undefined, own)).body
  const emails = (body: { data: { email: string }[] }) => body.data.map((contact) => contact.email)

  test('pages newest first with the general pagination', async () => {
    const first = await list('')
    expect(first.data).toHaveLength(25)
    expect(first.pagination).toEqual({
      page: 1,
      limit: 25,
      total: 31,
      totalPages: 2,
      hasNext: true,
      hasPrevious: false,
      totalIsExact: true,
      nextCursor: expect.any(String),
      previousCursor: null,
    })
    const second = await list('page=2')
    expect(second.data).toHaveLength(6)
    expect(second.pagination).toMatchObject({ hasNext: false, hasPrevious: true })
    const past = await list('page=9&limit=x')
    expect([past.data, past.pagination.hasNext]).toEqual([[], false])
    expect((await list('limit=1000')).pagination.limit).toBe(100)
    expect((await list('limit=99999999999999999999')).pagination.limit).toBe(100)
    expect((await list('page=1&page=2&limit=&limit=3')).pagination).toMatchObject({ page: 1, limit: 25 })
  })

  test.each([
    'created_at',
    '-created_at',
    'updated_at',
    '-updated_at',
    'email',
    '-email',
  ])('sorted by %s, cursors walk the same pages there and back', async (sort) => {
    const whole = (await list(`sort=${sort}&limit=100`)).data.map((one: { id: number }) => one.id)
    const [onward, back] = sort.startsWith('-') ? ['before', 'after'] : ['after', 'before']
    const walked: number[] = []
    let page = await list(`sort=${sort}&limit=7`)
    for (;;) {
      walked.push(...page.data.map((one: { id: number }) => one.id))
      if (!page.pagination.hasNext) break
      page = await list(`sort=${sort}&limit=7&${onward}=${page.pagination.nextCursor}`)
    }
    expect(walked).toEqual(whole)
    expect(page.pagination.nextCursor).toBeNull()
    const previous = await list(`sort=${sort}&limit=7&${back}=${page.pagination.previousCursor}`)
    expect(previous.data.map((one: { id: number }) => one.id)).toEqual(whole.slice(21, 28))
    expect(previous.pagination).toMatchObject({ page: null, hasNext: true, hasPrevious: true })
  })

  test('sorts by email, those without one last', async () => {
    const body = await list('sort=email&limit=100')
    expect(emails(body).slice(0, 2)).toEqual(['list00@x.org', 'list01@x.org'])
    expect(emails(body).at(-1)).toBeNull()
  })

  test.each([
    ['LIST07', 1],
    ['x.org', 30],
    ['ärg', 1],
    ['ÄRGER no7', 1],
    ['本太', 1],
    ['太', 1],
    ['+49 300 00-1007', 1],
    ['30000101', 10],
    ['p', 29],
    ['9', 31],
    ['unknown', 0],
    ['%', 0],
    ['_', 0],
    ["'", 0],
    ['person no1', 11],
    ['rson', 29],
  ])('finds %s in %i contacts', async (search, total) => {
    const body = await list(`search=${encodeURIComponent(search)}&limit=100`)
    expect([body.data.length, body.pagination.total]).toEqual([total, total])
  })

  test('422 for a search or a sort that cannot be', async () => {
    for (const query of ['sort=name', `search=${'x'.repeat(201)}`]) {
      expect((await call('GET', `/contacts?${query}`, undefined, own)).status).toBe(422)
    }
    expect((await call('GET', '/contacts?search=%00', undefined, own)).status).toBe(400)
  })

  const cursorOf = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')
  test.each([
    ['an id', '1'],
    ['an id that no contact has', '999999999'],
    ['nothing', ''],
    ['another text', 'x'],
    ['a cursor of another sort', cursorOf('email', 'a@x.org', 1)],
    ['a time that is no number', cursorOf('created_at', '2026-01-01', 1)],
    ['a time beyond all calendars', cursorOf('created_at', 8e15, 1)],
    ['an id that is none', cursorOf('created_at', 1e15, -1)],
    ['a long text', 'A'.repeat(3_000)],
  ])('422 for %s as a cursor', async (_, cursor) => {
    for (const side of ['before', 'after']) {
      const { status, body } = await call('GET', `/contacts?${side}=${cursor}`, undefined, own)
      expect([status, body.error.details.fields[0].path]).toEqual([422, side])
    }
  })

  test('the first page leads to the next one also when the count of contacts is older than the page', async () => {
    const busy = caller(await newCompany())
    await upsert([{ email: 'a@x.org' }, { email: 'b@x.org' }, { email: 'c@x.org' }], busy)
    await db`insert into contact_changes (company_id, change) values (${busy.companyId}, -1)`
    const read = async (query: string) => (await call('GET', `/contacts?limit=2&${query}`, undefined, busy)).body
    const { data, pagination } = await read('')
    expect([data.length, pagination.total, pagination.hasNext]).toEqual([2, 2, true])
    const next = await read(`before=${pagination.nextCursor}`)
    expect([next.data.length, next.pagination.nextCursor]).toEqual([1, null])
  })

  test('422 for an email that cannot be stored as a cursor', async () => {
    const cursor = cursorOf('email', 'a\0', 1)
    expect((await call('GET', `/contacts?sort=email&after=${cursor}`, undefined, own)).status).toBe(422)
  })

  test('a deleted contact is neither listed nor counted, and still serves as a cursor', async () => {
    const [gone] = await upsert({ email: 'gone@x.org' }, own)
    expect((await list('')).pagination.total).toBe(32)
    const cursor = (await list('limit=1')).pagination.nextCursor
    await call('DELETE', `/contacts/${gone.id}`, undefined, own)
    const after = await list('')
    expect(after.pagination.total).toBe(31)
    expect((await list(`before=${cursor}`)).data).toEqual(after.data)
    expect((await list('search=gone@')).data).toEqual([])
  })
})
