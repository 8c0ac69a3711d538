import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { until } from '../../../test/faults/wait.ts'
import { connect, type Db } from '../connect.ts'

const { db, url } = await createTestDatabase()

await db`create table notes (text text)`

function open({ max = 2 } = {}) {
  const sql = connect(url, { max, applicationName: 'driver' })
  onTestFinished(() => sql.end({ timeout: 0 }))
  return sql
}

const terminate = () => db`
  select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = 'driver' and datname = current_database()
`

test('a pipelined transaction with its own commit is kept, and refuses later statements', async () => {
  const sql = open()
  await sql.begin(
    '',
    async (tx) => {
      await Promise.all([tx`select 1`, tx`select 2`])
      await Promise.all([
        tx`insert into notes values ('kept')`,
        tx`insert into notes values ('kept, too')`,
        tx.commit(),
      ])
    },
    { pipelined: true },
  )
  const late = sql.begin(
    '',
    async (tx) => {
      await tx.commit()
      await tx`insert into notes values ('late')`
    },
    { pipelined: true },
  )
  await expect(late).rejects.toThrow('The transaction has ended')
  expect(await sql`select text from notes order by text`).toEqual([{ text: 'kept' }, { text: 'kept, too' }])
  await sql`delete from notes`
})

test('a statement that fails before its own commit takes the whole transaction back', async () => {
  const sql = open()
  const work = sql.begin(
    '',
    async (tx) => {
      await tx`select 1`
      await Promise.all([tx`insert into notes values ('lost')`, tx`select 1 / 0`, tx.commit()])
    },
    { pipelined: true },
  )
  await expect(work).rejects.toThrow('division by zero')
  const unawaited = sql.begin(
    '',
    async (tx) => {
      tx`select 1 / 0`.catch(() => {})
      await tx`insert into notes values ('lost')`.catch(() => {})
      return 'done'
    },
    { pipelined: true },
  )
  await expect(unawaited).rejects.toThrow('division by zero')
  expect(await sql`select text from notes`).toEqual([])
})

test('a pipelined transaction that cannot begin runs none of the statements that were sent with it', async () => {
  const sql = open({ max: 1 })
  const insert = (tx: Db) => tx`insert into notes values ('lost')`
  await expect(sql.begin('isolation level nonsense', insert, { pipelined: true })).rejects.toThrow('syntax error')
  expect(await sql`select text from notes`).toEqual([])
})

test('a pipelined transaction that cannot begin sends nothing after its first statements', async () => {
  const sql = open()
  const work = sql.begin(
    'isolation level nonsense',
    async (tx) => {
      await tx`select 1`.catch(() => {})
      await tx`insert into notes values ('lost')`
    },
    { pipelined: true },
  )
  await expect(work).rejects.toThrow('syntax error')
  expect(await sql`select text from notes`).toEqual([])
  expect(await Promise.all([1, 2, 3].map((n) => sql`select ${n}::integer as n`))).toEqual([
    [{ n: 1 }],
    [{ n: 2 }],
    [{ n: 3 }],
  ])
})

test('a pipelined transaction whose session is ended fails, writes nothing, and the pool goes on', async () => {
  const sql = open()
  const work = sql.begin(
    '',
    async (tx) => {
      await tx`select 1`
      await terminate()
      await Promise.all([tx`insert into notes values ('lost')`, tx.commit()])
    },
    { pipelined: true },
  )
  await expect(work).rejects.toThrow()
  expect(await sql`select text from notes`).toEqual([])
})

test('a statement that is cancelled in a pipelined transaction takes it back, and its session goes on', async () => {
  const sql = open({ max: 1 })
  const [before] = await sql`select pg_backend_pid() as pid`
  const work = sql.begin(
    '',
    (tx) => Promise.all([tx`insert into notes values ('lost')`, tx`select pg_sleep(60)`, tx.commit()]),
    { pipelined: true },
  )
  const failed = expect(work).rejects.toMatchObject({ code: '57014' })
  await until('it sleeps', async () => {
    const [row] = await db`
      select pg_cancel_backend(pid) from pg_stat_activity where pid = ${before!.pid} and wait_event = 'PgSleep'
    `
    return row !== undefined
  })
  await failed
  expect(await sql`select text from notes`).toEqual([])
  expect(await sql`select pg_backend_pid() as pid`).toEqual([before])
})
