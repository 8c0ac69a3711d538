import { describe, expect, test } from 'vitest'
import { caller, startContacts } from '../../test/contacts/contacts-app.ts'

const { db, companyId, newCompany, call: request } = await startContacts()

async function call(method: 'GET' | 'POST' | 'PUT' | 'PATCH', query = '', input?: unknown, company = companyId) {
  const { status, body } = await request(method, `/custom-fields${query}`, input, caller(company))
  return { status, body }
}

const PLAN = { key: 'plan', displayName: 'Plan', type: 'text' }

test('201 with the definition, the key in upper case and defaults filled in', async () => {
  expect(await call('POST', '', PLAN)).toEqual({
    status: 201,
    body: {
      data: {
        id: expect.any(Number),
        key: 'PLAN',
        displayName: 'Plan',
        type: 'text',
        category: null,
        visibility: true,
        source: 'Manual',
        allowedValues: null,
        metadata: null,
        retiredAt: null,
      },
    },
  })
})

test('201 for a select with allowed values and metadata of any keys', async () => {
  const metadata = JSON.parse('{"__proto__": {"a": [1, null]}, "constructor": "x", "a.b": "🙂"}')
  const field = {
    key: 'Colour_1',
    displayName: 'Colour',
    type: 'select',
    category: 'looks',
    visibility: false,
    allowedValues: ['red', 'blue'],
    metadata,
  }
  const { status, body } = await call('POST', '', field)
  expect(status).toBe(201)
  expect(body.data).toMatchObject({
    key: 'COLOUR_1',
    allowedValues: ['red', 'blue'],
    category: 'looks',
    visibility: false,
  })
  expect(JSON.stringify(Object.entries(body.data.metadata).sort())).toBe(
    JSON.stringify(Object.entries(metadata).sort()),
  )
})

test('409 naming the key when its upper case exists already, in this company only', async () => {
  const company = await newCompany()
  const created = await Promise.all(
    Array.from({ length: 20 }, (_, i) => call('POST', '', { ...PLAN, key: i % 2 ? 'dup' : 'DUP' }, company)),
  )
  expect(created.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(created.find(({ status }) => status !== 201)).toEqual({
    status: 409,
    body: { error: 'A custom field with the key DUP exists already' },
  })
  expect((await call('POST', '', { ...PLAN, key: 'dup' }, await newCompany())).status).toBe(201)
})

test.each([['key'], ['displayName'], ['type']])('400 Missing required fields without %s', async (name) => {
  for (const value of [undefined, null, '']) {
    const { status, body } = await call('POST', '', { ...PLAN, key: 'other', [name]: value })
    expect([status, body]).toEqual([400, { error: 'Missing required fields' }])
  }
})

test.each([
  ['key', { key: '1ST' }],
  ['key', { key: 'a-b' }],
  ['key', { key: 'x'.repeat(65) }],
  ['key', { key: 5 }],
  ['type', { type: 'list' }],
  ['displayName', { displayName: 'a\u0000' }],
  ['category', { category: 7 }],
  ['visibility', { visibility: 'true' }],
  ['allowedValues', { allowedValues: ['a'] }],
  ['allowedValues', { type: 'select' }],
  ['allowedValues', { type: 'select', allowedValues: [] }],
  ['allowedValues', { type: 'select', allowedValues: 'a' }],
  ['metadata', { metadata: [] }],
  ['metadata', { metadata: { a: 'x'.repeat(70_000) } }],
])('422 naming %s for %j', async (name, change) => {
  const { status, body } = await call('POST', '', { ...PLAN, key: 'bad', ...change })
  expect([status, body.error.code]).toEqual([422, 'validation_error'])
  expect(body.error.details.fields[0].path).toBe(name)
})

describe('the list', () => {
  test('all of the company, oldest first, and by category with uncategorized last', async () => {
    const company = await newCompany()
    expect((await call('GET', '', undefined, company)).body).toEqual({ data: [] })
    expect((await call('GET', '?groupBy=category', undefined, company)).body).toEqual({
      data: { groups: [], total: 0 },
    })
    for (const [key, category] of [
      ['B', 'zoo'],
      ['A', undefined],
      ['C', 'art'],
      ['D', 'zoo'],
      ['E', ''],
    ]) {
      await call('POST', '', { ...PLAN, key, category }, company)
    }
    const all = (await call('GET', '', undefined, company)).body.data
    expect(all.map((field: { key: string }) => field.key)).toEqual(['B', 'A', 'C', 'D', 'E'])
    const { data } = (await call('GET', '?groupBy=category', undefined, company)).body
    expect(data.total).toBe(5)
    expect(
      data.groups.map((group: { category: string; fields: { key: string }[] }) => [
        group.category,
        group.fields.map((field) => field.key),
      ]),
    ).toEqual([
      ['art', ['C']],
      ['zoo', ['B', 'D']],
      ['uncategorized', ['A', 'E']],
    ])
    expect(Object.keys(data.groups[0].fields[0])).toEqual(['id', 'key', 'displayName', 'type'])
  })

  test.each(['type', '', 'Category'])('400 invalid_group_by for %j', async (groupBy) => {
    const { status, body } = await call('GET', `?groupBy=${groupBy}`)
    expect([status, body.error.code]).toEqual([400, 'invalid_group_by'])
  })
})

type Field = { id: number; key: string; retiredAt: string | null }

const keysOf = (fields: Field[]) => fields.map(({ key }) => key)

/** A company with these definitions, and calls with its key. */
async function companyWith(...fields: object[]) {
  const company = await newCompany()
  const own = (method: 'GET' | 'PUT' | 'PATCH', query: string, input?: unknown) => call(method, query, input, company)
  const created: Field[] = []
  for (const field of fields) created.push((await call('POST', '', { ...PLAN, ...field }, company)).body.data)
  const [first] = created
  return { company, own, created, id: first?.id ?? 0 }
}

describe('a change', () => {
  test('200 with the definition; members that are not sent stay', async () => {
    const { own, id } = await companyWith({ category: 'Loyalty' })
    const renamed = await own('PATCH', `/${id}`, { displayName: 'Tariff' })
    expect([renamed.status, renamed.body.data]).toEqual([
      200,
      expect.objectContaining({ id, key: 'PLAN', displayName: 'Tariff', category: 'Loyalty', visibility: true }),
    ])
    const moved = await own('PATCH', `/${id}`, { category: null, visibility: false })
    expect(moved.body.data).toMatchObject({ displayName: 'Tariff', category: null, visibility: false })
    expect((await own('GET', '')).body.data).toEqual([moved.body.data])
  })

  test('200 with other allowed values for a select, 422 for another type', async () => {
    const { own, created } = await companyWith({ type: 'select', allowedValues: ['a'] }, { key: 'TEXT' })
    const [select, plain] = created
    const changed = await own('PATCH', `/${select?.id}`, { allowedValues: ['b', 'a'] })
    expect(changed.body.data.allowedValues).toEqual(['b', 'a'])
    const refused = await own('PATCH', `/${plain?.id}`, { allowedValues: ['b'] })
    expect([refused.status, refused.body.error.details.fields[0].path]).toEqual([422, 'allowedValues'])
  })

  test.each([
    ['displayName', { displayName: '' }],
    ['displayName', { displayName: null }],
    ['displayName', { displayName: 'a\u0000' }],
    ['displayName', { displayName: 'x'.repeat(201) }],
    ['category', { category: 7 }],
    ['category', { category: 'x'.repeat(101) }],
    ['category', { category: '\u0000' }],
    ['visibility', { visibility: 'true' }],
    ['allowedValues', { allowedValues: [] }],
    ['allowedValues[0]', { allowedValues: ['\u0000'] }],
    ['retired', { retired: 'yes' }],
  ])('422 naming %s for %j', async (path, change) => {
    const { own, id } = await companyWith({ type: 'select', allowedValues: ['a'] })
    const { status, body } = await own('PATCH', `/${id}`, change)
    expect([status, body.error.code, body.error.details.fields[0].path]).toEqual([422, 'validation_error', path])
  })

  test('400 without a member that can change', async () => {
    const { own, id } = await companyWith({})
    expect((await own('PATCH', `/${id}`, {})).body.error.code).toBe('bad_request')
  })

  test('422 naming what stays as it is, when it is given otherwise', async () => {
    const { own, id } = await companyWith({})
    const { status, body } = await own('PATCH', `/${id}`, { key: 'OTHER', type: 'number', source: 'Manual' })
    expect([status, body.error.details.fields.map(({ path }: { path: string }) => path)]).toEqual([
      422,
      ['key', 'type'],
    ])
  })

  test('404 for a definition that does not exist, or is of another company', async () => {
    const { own } = await companyWith({})
    const { id: foreign } = await companyWith({})
    for (const id of [foreign, '987654321', 'x']) {
      const { status, body } = await own('PATCH', `/${id}`, { displayName: 'Mine' })
      expect([status, body]).toEqual([404, { message: 'Custom field not found' }])
    }
  })
})

describe('retiring', () => {
  test('takes a definition out of the lists, where includeRetired shows it, until it ends', async () => {
    const { own, id } = await companyWith({}, { key: 'STAYS' })
    const retired = (await own('PATCH', `/${id}`, { retired: true })).body.data
    expect(retired.retiredAt).toMatch(/^20.*Z$/)
    expect(keysOf((await own('GET', '')).body.data)).toEqual(['STAYS'])
    expect((await own('GET', '?groupBy=category')).body.data).toMatchObject({ total: 1 })
    expect((await own('GET', '?includeRetired=true')).body.data).toMatchObject([retired, { key: 'STAYS' }])
    expect((await own('GET', '?groupBy=category&includeRetired=true')).body.data).toMatchObject({ total: 2 })
    expect((await own('PATCH', `/${id}`, { retired: true })).body.data).toEqual(retired)
    expect((await own('PATCH', `/${id}`, { retired: false })).body.data).toMatchObject({ retiredAt: null })
    expect(keysOf((await own('GET', '')).body.data)).toEqual(['PLAN', 'STAYS'])
  })

  test('422 when includeRetired is no boolean', async () => {
    const { own } = await companyWith({})
    expect((await own('GET', '?includeRetired=maybe')).body.error.details.fields[0].path).toBe('includeRetired')
  })

  test('keeps the key: another definition with it is 409', async () => {
    const { own, company, id } = await companyWith({})
    await own('PATCH', `/${id}`, { retired: true })
    expect((await call('POST', '', PLAN, company)).status).toBe(409)
  })
})

describe('the order', () => {
  const fields = ['A', 'B', 'C', 'D'].map((key) => ({ key, category: 'one' }))

  test('200 with the definitions in it; those that are not named follow in their order', async () => {
    const { own, created, company } = await companyWith(...fields)
    const [, , c, d] = created
    const ordered = await own('PUT', '/order', { ids: [d?.id, c?.id] })
    expect([ordered.status, keysOf(ordered.body.data)]).toEqual([200, ['D', 'C', 'A', 'B']])
    expect(keysOf((await own('GET', '')).body.data)).toEqual(['D', 'C', 'A', 'B'])
    const { groups } = (await own('GET', '?groupBy=category')).body.data
    expect(keysOf(groups[0].fields)).toEqual(['D', 'C', 'A', 'B'])
    await call('POST', '', { ...PLAN, key: 'E' }, company)
    expect(keysOf((await own('GET', '')).body.data)).toEqual(['D', 'C', 'A', 'B', 'E'])
  })

  test('waits for no other company', async () => {
    const { own, created } = await companyWith(...fields)
    const { company: other } = await companyWith(...fields)
    await db.begin(async (held) => {
      await held`select from custom_fields where company_id = ${other} for update`
      expect((await own('PUT', '/order', { ids: [created[3]?.id] })).status).toBe(200)
    })
  })

  test('holds retired definitions, too', async () => {
    const { own, created } = await companyWith(...fields)
    await own('PATCH', `/${created[1]?.id}`, { retired: true })
    const { body } = await own('PUT', '/order', { ids: created.map(({ id }) => id).reverse() })
    expect(keysOf(body.data)).toEqual(['D', 'C', 'B', 'A'])
  })

  test('404 for an id that does not exist or is of another company, and nothing moves', async () => {
    const { own, created } = await companyWith(...fields)
    const { id: foreign } = await companyWith({})
    for (const id of [foreign, 987_654_321]) {
      const { status, body } = await own('PUT', '/order', { ids: [created[3]?.id, id] })
      expect([status, body]).toEqual([404, { message: 'Custom field not found' }])
    }
    expect(keysOf((await own('GET', '')).body.data)).toEqual(['A', 'B', 'C', 'D'])
  })

  test.each([
    [{ ids: [] }],
    [{ ids: [1, 1] }],
    [{ ids: ['1'] }],
    [{ ids: [0] }],
    [{ ids: [2 ** 53] }],
    [{ ids: Array.from({ length: 1_001 }, (_, i) => i + 1) }],
  ])('422 for body %#', async (body) => {
    const { own } = await companyWith(...fields)
    expect((await own('PUT', '/order', body)).status).toBe(422)
  })

  test.each([[{}], [[]]])('400 for %j', async (body) => {
    const { own } = await companyWith(...fields)
    expect((await own('PUT', '/order', body)).body.error.code).toBe('bad_request')
  })
})
