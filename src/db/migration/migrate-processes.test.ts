import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { until } from '../../../test/parley-process.ts'
import { emptyDatabase, names, RUNNER, schema } from '../../../test/schema/migrations-world.ts'
import { sql } from '../connect.ts'
import { migrate } from './migrate.ts'

test('five processes at once on an empty database apply each migration once', async () => {
  const { db, url } = await emptyDatabase()
  const children = [1, 2, 3, 4, 5].map(() => fork(RUNNER, [url], { stdio: 'pipe' }))
  const results = await Promise.all(
    children.map(async (child) => {
      const exited = once(child, 'close')
      let applied: unknown = 'nothing was said'
      child.on('message', (message) => {
        applied = message
      })
      expect((await exited)[0]).toBe(0)
      return applied as string[]
    }),
  )
  const applied = results.flat().sort()
  expect(applied).toEqual(await names(db))
  expect(applied.length).toBeGreaterThan(3)
})

test('a process killed in the middle of a migration leaves nothing, and the next one applies it', async () => {
  const { db, url } = await emptyDatabase()
  const slow = schema({ '0001_slow.sql': 'create table slow (id int); select pg_sleep(3600);' })
  const child = fork(RUNNER, [url, slow.migrations], { stdio: 'pipe' })
  const working = sql`select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
  await until('the migration is at work', async () => (await db`${working}`).length === 1)
  child.kill('SIGKILL')
  await once(child, 'exit')
  // The server notices a lost client when the statement ends; this test does not wait for that.
  await db`select pg_terminate_backend(pid) from (${working}) as work`
  expect(await db`select to_regclass('slow') as slow`).toEqual([{ slow: null }])

  const quick = schema({ '0001_slow.sql': 'create table slow (id int);' })
  expect(await migrate(db, { source: quick })).toEqual(['0001_slow.sql'])
})
