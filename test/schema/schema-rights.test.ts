import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../database.ts'
import { bundledVersion, runParley, startParley } from '../parley-process.ts'
import { createRoles } from './roles.ts'

const ADMIN_TOKEN = 'operator-token-for-tests-0123456789'
const settings = (url: string) => ({
  DATABASE_URL: url,
  ADMIN_TOKEN,
  ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  MIGRATE: 'off',
})

test('the runtime role of deploy/roles.sql runs the service on a database that its owner migrated', async () => {
  const { ownerUrl, runtimeUrl } = await createRoles()
  const migrate = await runParley(settings(ownerUrl), { args: ['migrate'] })
  expect(await migrate.exited, migrate.output()).toBe(0)
  const parley = await startParley(settings(runtimeUrl))
  const health = await fetch(`${parley.address}/healthz`)
  expect(await health.json()).toEqual({ status: 'ok', version: bundledVersion() })
  const created = await fetch(`${parley.address}/admin/v1/companies`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Acme' }),
  })
  expect(created.status).toBe(201)
  const metrics = await (await fetch(`${parley.address}/metrics`)).text()
  expect(metrics).toContain(`parley_build_info{version="${bundledVersion()}",node="${process.version}"} 1`)
  expect(await parley.signal('SIGTERM')).toBe(0)
})

test('MIGRATE=off on a database without the schema ends with the command that creates it', async () => {
  const { db, url } = await createTestDatabase()
  await db.unsafe('drop schema public cascade; create schema public')
  const parley = await runParley(settings(url))
  expect(await parley.exited).toBe(1)
  expect(parley.output()).toContain('The database has no schema yet: run parley migrate as the owner of the schema')
})

test('MIGRATE=off names what the database lacks', async () => {
  const { db, url } = await createTestDatabase()
  await db`delete from sql_objects where name = 'enqueue_jobs'`
  const functions = await runParley(settings(url))
  expect(await functions.exited).toBe(1)
  expect(functions.output()).toContain("The functions of the database are not this version's: run parley migrate")

  await db`delete from migrations where name like '0005%'`
  const tables = await runParley(settings(url))
  expect(await tables.exited).toBe(1)
  expect(tables.output()).toContain('The database lacks 0005_email.sql: run parley migrate')
})

test('parley migrate creates the schema and ends, once and again', async () => {
  const { db, url } = await createTestDatabase()
  await db.unsafe('drop schema public cascade; create schema public')
  const first = await runParley(settings(url), { args: ['migrate'] })
  expect(await first.exited).toBe(0)
  expect(first.output()).toContain('Applied 0001_companies_and_senders.sql')
  const second = await runParley(settings(url), { args: ['migrate'] })
  expect(await second.exited).toBe(0)
  expect(second.output()).toBe('The schema is up to date\n')
})

test('parley --version prints the version', async () => {
  const parley = await runParley({}, { args: ['--version'] })
  expect(await parley.exited).toBe(0)
  expect(parley.output()).toBe(`${bundledVersion()}\n`)
})
