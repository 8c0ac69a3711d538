import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { until } from '../../../test/faults/wait.ts'
import { holdOpen } from '../../../test/held-locks.ts'
import { connect, type Db, sql as fragment } from '../connect.ts'

const { db, url } = await createTestDatabase()

await db`create table notes (text text)`

function open({ max = 2 } = {}) {
  const sql = connect(url, { max, applicationName: 'driver' })
  onTestFinished(() => sql.end({ timeout: 0 }))
  return sql
}

const sessions = () => db`
  select from pg_stat_activity where application_name = 'driver' and datname = current_database()
`

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
  expect(await sql`select text from notes`).toEqual([])
})

test('a statement that comes after the end of its transaction is refused', async () => {
  const sql = open()
  const late = await sql.begin(async (tx) => ({ write: () => tx`insert into notes values ('late')` }))
  await expect(late.write()).rejects.toThrow()
  expect(await sql`select text from notes`).toEqual([])
})

test('statements of a transaction run in the order in which they are written', async () => {
  const sql = open()
  await db`create sequence run_order`
  const next = (tx: Db) => tx<{ place: number }[]>`select nextval('run_order') as place`
  const later = async (tx: Db) => await next(tx)
  const places = await sql.begin(async (tx) => {
    const kept = next(tx)
    const [second, third, fourth] = await Promise.all([next(tx), later(tx), next(tx)])
    return [await kept, second, third, fourth].map((rows) => rows[0]?.place)
  })
  expect(places).toEqual([1, 2, 3, 4])
})

test('a statement runs without being awaited', async () => {
  const sql = open()
  await sql.begin(async (tx) => {
    void tx`insert into notes values ('not awaited')`
  })
  expect(await sql`delete from notes returning text`).toEqual([{ text: 'not awaited' }])
})

test('a statement that nothing awaits fails its transaction', async () => {
  const sql = open()
  const work = sql.begin(async (tx) => {
    void tx`insert into notes values (${new Date(Number.NaN)}::text)`
    void tx`insert into notes values ('with it')`
  })
  await expect(work).rejects.toThrow(RangeError)
  expect(await sql`select text from notes`).toEqual([])
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

test('a value that cannot be sent keeps the commit behind it from being sent', async () => {
  const sql = open()
  const work = sql.begin(
    '',
    (tx) =>
      Promise.all([
        tx`insert into notes values ('lost')`,
        tx`select ${new Date(Number.NaN)}::timestamptz`,
        tx.commit(),
      ]),
    { pipelined: true },
  )
  await expect(work).rejects.toThrow(RangeError)
  expect(await sql`select text from notes`).toEqual([])
})

test('a statement with more parameters than the protocol can count fails alone', async () => {
  const sql = open()
  const values = Array.from({ length: 65_536 }, () => fragment`${1}::integer,`)
  const [many, next] = await Promise.allSettled([sql`select ${values} 1`, sql`select 2 as n`])
  expect(many).toMatchObject({ reason: { message: 'A statement has at most 65535 parameters' } })
  expect(next).toEqual({ status: 'fulfilled', value: [{ n: 2 }] })
})

describe('a prepared statement that its table has outgrown', () => {
  /** A pool of one connection, which has prepared the statement before the table changed. */
  async function outgrown() {
    const sql = open({ max: 1 })
    await db`drop table if exists lists`
    await db`create table lists (name text)`
    const insert = (tx: Db) => tx`insert into lists values ('kept') returning *`
    await insert(sql)
    await db`alter table lists add column size integer`
    await db`delete from lists`
    return { sql, insert }
  }

  test('is prepared again', async () => {
    const { sql, insert } = await outgrown()
    expect(await insert(sql)).toEqual([{ name: 'kept', size: null }])
    expect(await insert(sql)).toEqual([{ name: 'kept', size: null }])
  })

  test('fails its transaction, and is not repeated behind the commit', async () => {
    const { sql, insert } = await outgrown()
    const work = sql.begin('', (tx) => Promise.all([tx`select 1`, insert(tx), tx.commit()]), { pipelined: true })
    await expect(work).rejects.toThrow('cached plan must not change result type')
    expect(await db`select from lists`).toHaveLength(0)
    await sql.begin(insert)
    expect(await db`select from lists`).toHaveLength(1)
  })

  test('is not repeated within the transaction behind it', async () => {
    const { sql, insert } = await outgrown()
    const inserted = insert(sql)
    const rolledBack = sql.begin(async (tx) => {
      await tx`select 1`
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    expect(await inserted).toHaveLength(1)
    expect(await db`select from lists`).toHaveLength(1)
  })
})

describe('beside a statement that waits for a lock', () => {
  /** A pool of two connections: one waits for a lock, the other sleeps. Both are used before the next work comes. */
  async function openBlocked() {
    const sql = open()
    await Promise.all([sql`select pg_sleep(0.1)`, sql`select pg_sleep(0.1)`])
    const release = await holdOpen(db, (tx) => tx`select pg_advisory_xact_lock(4711)`)
    const blocked = sql`select pg_advisory_lock(4711)`.catch(() => {})
    const sleeping = sql`select pg_sleep(0.2)`.then(() => {})
    await pause(50)
    return { sql, sleeping, end: () => Promise.all([release(), blocked, sleeping]) }
  }

  test('a transaction gets the other connection', async () => {
    const { sql, end } = await openBlocked()
    expect(await sql.begin((tx) => tx`select 1 as n`)).toEqual([{ n: 1 }])
    await end()
  })

  test('a statement goes to the connection that answers', async () => {
    const { sql, sleeping, end } = await openBlocked()
    await sleeping
    const others = [sql`select pg_sleep(0.01)`, sql`select 2 as n`, sql`select 3 as n`]
    expect((await Promise.all(others)).slice(1)).toEqual([[{ n: 2 }], [{ n: 3 }]])
    await end()
  })
})

test('a statement that waits for a connection runs before those that come later', async () => {
  const sql = open({ max: 1 })
  const release = await holdOpen(db, 'select pg_advisory_xact_lock(17)')
  const write = (text: string) => sql`insert into notes values (${text})`
  await sql`select 1`
  const first = sql`select 1`
  const locked = sql`select pg_advisory_xact_lock(17)`
  const others = Array.from({ length: 98 }, () => sql`select 2`)
  const waiting = write('first')
  await first
  const later = write('second')
  await release()
  await Promise.all([locked, ...others, waiting, later])
  expect(await sql`select text from notes`).toEqual([{ text: 'first' }, { text: 'second' }])
  await sql`delete from notes`
})

test('a listener that cannot begin keeps no connection', async () => {
  const sql = open()
  await expect(sql.listen('', () => {})).rejects.toThrow('zero-length delimited identifier')
  await until('its connection is closed', async () => (await sessions()).length === 0)
})
