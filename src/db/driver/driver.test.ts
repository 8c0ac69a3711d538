import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { connect } from '../connect.ts'

const { db, url } = await createTestDatabase()
await db`create table notes (words text)`

function open() {
  const sql = connect(url, { max: 2, applicationName: 'driver' })
  onTestFinished(() => sql.end({ timeout: 0 }))
  return sql
}

const terminate = () => db`
  select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = 'driver' and datname = current_database()
`

test('a transaction whose session is ended fails, writes nothing, and the pool goes on', async () => {
  const sql = open()
  const work = sql.begin(async (tx) => {
    await tx`insert into notes values ('lost')`
    await terminate()
    await tx`insert into notes values ('lost, too')`
  })
  await expect(work).rejects.toThrow()
  expect(await sql`select words from notes`).toEqual([])
})

test('a statement that comes after the end of its transaction is refused', async () => {
  const sql = open()
  const late = await sql.begin(async (tx) => ({ write: () => tx`insert into notes values ('late')` }))
  await expect(late.write()).rejects.toThrow()
  expect(await sql`select words from notes`).toEqual([])
})

test('a statement that cannot be sent fails alone: the answers of the others stay theirs', async () => {
  const sql = open()
  const [first, second, third] = await Promise.allSettled([
    sql`select 1 as n`,
    sql`select ${new Date(Number.NaN)}::timestamptz as n`,
    sql`select 3 as n`,
  ])
  expect([first.status, second.status, third.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await sql`select 4 as n`).toEqual([{ n: 4 }])
})

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
  expect(await sql`select words from notes order by words`).toEqual([{ words: 'kept' }, { words: 'kept, too' }])
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
  expect(await sql`select words from notes`).toEqual([])
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
  expect(await sql`select words from notes`).toEqual([])
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
  expect(await sql`select words from notes`).toEqual([])
})

test('a null within an array is null, and the text NULL is text', async () => {
  const [row] = await open()`select array[null, 'NULL', 'a b', null] as texts, array[[1, null], [null, 2]] as numbers`
  expect(row).toEqual({
    texts: [null, 'NULL', 'a b', null],
    numbers: [
      [1, null],
      [null, 2],
    ],
  })
})
