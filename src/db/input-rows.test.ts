import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { inputRows, placedRows } from './input-rows.ts'

const { db } = await createTestDatabase()

const EVENTS = [
  { companyId: 1, wabaIds: ['a', 'b'], details: { accountId: 1 }, at: new Date(0), isRead: true, secret: 'x' },
  { companyId: 2, wabaIds: [], details: null, at: null, isRead: undefined, secret: 'y' },
]

test('reads only the listed members, as snake_case columns', async () => {
  const rows = await db`
    select * from ${inputRows(EVENTS, {
      bigint: ['companyId'],
      'text[]': ['wabaIds'],
      jsonb: ['details'],
      timestamptz: ['at'],
      boolean: ['isRead'],
    })}
  `
  expect(rows).toEqual([
    { companyId: 1, wabaIds: ['a', 'b'], details: { accountId: 1 }, at: new Date(0), isRead: true },
    { companyId: 2, wabaIds: [], details: null, at: null, isRead: null },
  ])
})

test('writes null and absent members as SQL nulls, also in jsonb', async () => {
  const [absent] = await db`
    select bool_and(details is null or details <> 'null') as is_sql_null
    from ${inputRows([{ details: null }, { details: undefined }, { details: { a: 1 } }], { jsonb: ['details'] })}
  `
  expect(absent).toEqual({ isSqlNull: true })
})

test('numbers rows from 1 under the given alias', async () => {
  const rows = await db`
    select event.place, event.company_id from ${placedRows(EVENTS, { integer: ['companyId'] }, 'event')} order by place desc
  `
  expect(rows).toEqual([
    { place: 2, companyId: 2 },
    { place: 1, companyId: 1 },
  ])
})

test('accepts no rows, and only members as columns', async () => {
  expect(await db`select * from ${inputRows<{ id: number }>([], { bigint: ['id'] })}`).toEqual([])
  // @ts-expect-error: a column without a member would be null in every row
  inputRows(EVENTS, { bigint: ['companyID'] })
})
