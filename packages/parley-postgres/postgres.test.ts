import postgres from '@parley/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'

const { db, url } = await createTestDatabase()
await db`create table notes (words text)`

/** A driver as the package gives it, with nothing of Parley around it. */
function open() {
  const address = new URL(url)
  const host = address.searchParams.get('host') ?? ''
  address.searchParams.delete('host')
  const sql = postgres(address.toString(), { host, max: 2, connection: { application_name: 'driver' } })
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
