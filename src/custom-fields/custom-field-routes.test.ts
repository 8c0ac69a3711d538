import { describe, expect, test } from 'vitest'
import { caller, startContacts } from '../../test/contacts/contacts-app.ts'

const { companyId, newCompany, call: request } = await startContacts()

async function call(method: 'GET' | 'POST', query = '', input?: unknown, company = companyId) {
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
