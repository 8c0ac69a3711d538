import { describe, expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { connect, sessionName } from '../connect.ts'

// The server itself behind an address that says that a pooler is between: each statement has to bring its settings along.
const { db, url } = await createTestDatabase()
await db`create table notes (id integer primary key, text text)`

const LIMITS = { statementMs: 4_321, lockMs: 1_234, idleInTransactionMs: 2_345 }

function open({ isPooled = true, limits = LIMITS } = {}) {
  const sql = connect(isPooled ? `${url}&pgbouncer=true` : url, { max: 1, limits, optOutKey: 'the key' })
  onTestFinished(() => sql.end({ timeout: 0 }))
  return sql
}

const SETTINGS = `
  select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
         current_setting('enable_seqscan') as seqscan, current_setting('parley.opt_out_key', true) as key,
         current_setting('application_name') as name
`
const OURS = { statement: '4321ms', lock: '1234ms', seqscan: 'off', key: 'the key', name: sessionName() }

test('without a pooler the settings are those of the session, and statements are prepared', async () => {
  const sql = open({ isPooled: false })
  expect(await sql.unsafe(SETTINGS)).toEqual([OURS])
  await sql`select 1`
  expect(await sql.unsafe('select from pg_prepared_statements')).toHaveLength(1)
  expect(sql.options.isPooled).toBe(false)
})

describe('behind a pooler', () => {
  test('each statement and each transaction has the settings', async () => {
    const sql = open()
    expect(sql.options.isPooled).toBe(true)
    expect(await sql.unsafe(SETTINGS)).toEqual([OURS])
    expect(await sql.unsafe(SETTINGS, [], { prepare: true })).toEqual([OURS])
    expect(await sql.begin((tx) => tx.unsafe(SETTINGS))).toEqual([OURS])
    const read = sql.begin('isolation level repeatable read read only', (tx) => tx.unsafe(SETTINGS))
    expect(await read).toEqual([OURS])
    const pipelined = sql.begin('', (tx) => Promise.all([tx.unsafe(SETTINGS), tx.commit()]), { pipelined: true })
    expect((await pipelined)[0]).toEqual([OURS])
  })

  test('a session keeps nothing: neither settings nor prepared statements', async () => {
    const sql = open()
    await sql`insert into notes values (1, ${'kept'})`
    await sql.begin((tx) => tx`select text from notes where id = ${1}`)
    // Text that begins with the end of a transaction runs without what was set for it.
    const [row] = await sql.unsafe(`commit; ${SETTINGS}`)
    expect(row).toMatchObject({ statement: '0', lock: '0', seqscan: 'on', key: '' })
    expect(await sql.unsafe('select from pg_prepared_statements')).toEqual([])
  })

  test('rows and counts are those of the statement', async () => {
    const sql = open()
    const inserted = await sql`insert into notes values (2, ${'two'}), (3, ${'three'})`
    expect([[...inserted], inserted.count]).toEqual([[], 2])
    expect(await sql`update notes set text = ${'Two'} where id = 2 returning *`).toEqual([{ id: 2, text: 'Two' }])
    const deleted = await sql.unsafe('delete from notes where id = 3')
    expect([[...deleted], deleted.count]).toEqual([[], 1])
    expect(await sql.unsafe('select 1 as n; select 2 as n')).toEqual([{ n: 2 }])
    expect(await Promise.all([1, 2, 3].map((n) => sql`select ${n}::integer as n`))).toEqual([
      [{ n: 1 }],
      [{ n: 2 }],
      [{ n: 3 }],
    ])
  })

  test('a statement that fails leaves the connection usable, and nothing behind', async () => {
    const sql = open()
    await expect(sql`select 1 / 0`).rejects.toThrow('division by zero')
    await expect(sql.unsafe('insert into notes values (9); select 1 / 0')).rejects.toThrow('division by zero')
    const impatient = open({ limits: { ...LIMITS, statementMs: 100 } })
    await expect(impatient`select pg_sleep(60)`).rejects.toMatchObject({ code: '57014' })
    expect(await sql`select from notes where id = 9`).toEqual([])
    const failing = sql.begin((tx) =>
      tx.savepoint((save) => save`insert into notes values (1)`).catch(() => tx`select 5 as n`),
    )
    expect(await failing).toEqual([{ n: 5 }])
  })
})
