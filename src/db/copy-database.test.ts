import { expect, onTestFinished, test } from 'vitest'
import { startCutProxy } from '../../test/cut-proxy.ts'
import { createTestDatabase } from '../../test/database.ts'
import { holdOpen, untilBlocked } from '../../test/held-locks.ts'
import { fillTables, findLost, readRows } from '../../test/schema/baseline.ts'
import { createRoles } from '../../test/schema/roles.ts'
import { connect } from './connect.ts'
import { copyDatabase } from './copy-database.ts'
import { migrate } from './migration/migrate.ts'
import { isDatabaseDown } from './pool/failure.ts'

/** The database of an owner who is no superuser, as deploy/roles.sql creates it, with the tables and nothing in them. */
async function emptyTarget() {
  const { ownerUrl } = await createRoles()
  const db = connect(ownerUrl, { max: 1 })
  onTestFinished(() => db.end())
  await migrate(db)
  return db
}

test('a copy has every row of every table, its days of deliveries, and gives new ids after the old ones', async () => {
  const { db } = await createTestDatabase()
  await fillTables(db)
  const rows = await readRows(db)
  // More than a stream holds at once.
  await db`select setval('companies_id_seq', 3)`
  await db`insert into companies (name) select 'n' || n from generate_series(1, 5000) n`
  const target = await emptyTarget()
  const copied = await copyDatabase(db, target)
  for (const ledger of ['migrations', 'sql_objects']) rows.delete(ledger)
  expect(copied.map(({ table }) => table).sort()).toEqual([...rows.keys()].sort())
  expect(copied.find(({ table }) => table === 'companies')?.rows).toBe(5003)
  expect(await findLost(target, rows)).toEqual([])
  const [next] = await target`insert into companies (name) values ('next') returning id`
  const [last] = await db`select max(id) as id from companies`
  expect(next?.id).toBe(last?.id + 1)
})

test('a copy into a database with rows is refused and changes nothing', async () => {
  const { db } = await createTestDatabase()
  const target = await emptyTarget()
  await target`insert into companies (name) values ('There already')`
  await expect(copyDatabase(db, target)).rejects.toThrow('is not empty (its table companies has rows)')
  expect(await target`select name from companies`).toEqual([{ name: 'There already' }])
})

test('a copy that fails in the middle leaves nothing', async () => {
  const { db } = await createTestDatabase()
  await fillTables(db)
  const target = await emptyTarget()
  await target`alter table email_clicks add constraint none check (false)`
  await expect(copyDatabase(db, target)).rejects.toThrow('violates check constraint "none"')
  expect(await target`select from companies`).toHaveLength(0)
})

test('a copy whose target refuses a row before all rows are read fails, and both databases go on', async () => {
  const { db } = await createTestDatabase()
  // More than the sockets between the two databases hold.
  await db`insert into companies (name) select repeat(n::text, 2000) from generate_series(1, 20_000) n`
  const target = await emptyTarget()
  await target`alter table companies add constraint none check (false)`
  await expect(copyDatabase(db, target)).rejects.toThrow('violates check constraint "none"')
  expect(await target`select from companies`).toHaveLength(0)
  expect(await db`select count(*)::int from companies`).toEqual([{ count: 20_000 }])
})

test.each([
  ['begins', 'create trigger stop before insert on companies execute function stop()'],
  ['ends', 'create trigger stop after insert on companies execute function stop()'],
])('a copy whose target is lost while the copy of a table %s fails', async (_, trigger) => {
  const { db } = await createTestDatabase()
  await db`insert into companies (name) values ('Copied')`
  const { db: target, url } = await createTestDatabase()
  await target`
    create function stop() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(17); return null; end'
  `
  await target.unsafe(trigger)
  await holdOpen(target, 'select pg_advisory_xact_lock(17)')
  const proxy = await startCutProxy(url)
  const lost = connect(proxy.url, { max: 1, applicationName: 'copier' })
  onTestFinished(() => lost.end({ timeout: 0 }))
  const copying = failureOf(copyDatabase(db, lost))
  await untilBlocked(target, 'copier')
  proxy.cut('rst')
  expect(isDatabaseDown(await copying)).toBe(true)
  expect(await db`select name from companies`).toEqual([{ name: 'Copied' }])
})

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.fail('succeeded'),
    (error: unknown) => error,
  )
