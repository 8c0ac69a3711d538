import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { connect } from '../connect.ts'
import { isContention, isDatabaseDown, isDataError, sqlState } from './failure.ts'

const { db, url } = await createTestDatabase()

const failureOf = (statement: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(statement).then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a database that is down', () => {
  test.each([
    'postgres://nobody@127.0.0.1:1/nothing',
    'postgres://nobody@localhost/nothing?host=/nowhere',
  ])('is known when it cannot be reached: %s', async (address) => {
    const away = connect(address, { max: 1 })
    expect(isDatabaseDown(await failureOf(away`select 1`))).toBe(true)
    await away.end({ timeout: 0 })
  })

  test('is known when it ends the connection, or the pool is closed', async () => {
    const pool = connect(url, { max: 1 })
    expect(isDatabaseDown(await failureOf(pool`select pg_terminate_backend(pg_backend_pid())`))).toBe(true)
    await pool.end()
    expect(isDatabaseDown(await failureOf(pool`select 1`))).toBe(true)
  })

  test('does not include a wrong statement or a missing file', async () => {
    expect(isDatabaseDown(await failureOf(db`select nonsense`))).toBe(false)
    expect(isDatabaseDown(Object.assign(new Error('no file'), { code: 'ENOENT', syscall: 'open' }))).toBe(false)
    expect(isDatabaseDown(undefined)).toBe(false)
  })
})

test('refused data and contention are distinguished', async () => {
  const divided = await failureOf(db`select 1 / 0`)
  expect([sqlState(divided), isDataError(divided), isContention(divided)]).toEqual(['22012', true, false])
  const duplicate = await failureOf(db`
    insert into api_keys (client_id, company_id, name, digest, permissions) values ('x', 0, 'x', '', '{WhatsApp}')`)
  expect(isDataError(duplicate)).toBe(true)
  const tooLong = await failureOf(db`
    insert into inbound_items (state, reason, phone_number_id, body, received_at)
    select 'unroutable', '', string_agg(md5(n::text), ''), '', now() from generate_series(1, 300) as n`)
  expect([sqlState(tooLong), isDataError(tooLong)]).toEqual(['54000', true])
  expect(isContention(Object.assign(new Error('deadlock'), { code: '40P01' }))).toBe(true)
})
