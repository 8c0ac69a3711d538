import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { connect, sql } from '../../src/db/connect.ts'
import { createCipher } from '../../src/secrets/secrets.ts'
import { createTestDatabase } from '../database.ts'
import { freePort } from '../free-port.ts'
import {
  dataFolder,
  type ParleyProcess,
  processesOn,
  queryEmbedded,
  readyFolder,
  runParley,
  startParley,
  until,
  untilGone,
  untilReady,
} from '../parley-process.ts'

const SLOW = fileURLToPath(new URL('./slow-app.ts', import.meta.url))
const TIMEOUT = 300_000

async function expectRefusal(parley: ParleyProcess, ...texts: string[]): Promise<void> {
  expect(await parley.exited).toBe(1)
  for (const text of texts) expect(parley.output()).toContain(text)
  expect(parley.output()).not.toMatch(/\n\s+at /)
}

test(
  'a stop leaves no process behind, and a second start keeps data and admin token',
  async () => {
    const folder = dataFolder()
    const first = await startParley({ DATA_DIR: folder })
    expect((await fetch(`${first.address}/healthz`)).status).toBe(200)
    await queryEmbedded(folder, 'create table kept as select 42 as answer')
    const token = readFileSync(join(folder, 'admin-token'), 'utf8')
    expect(await first.signal('SIGTERM')).toBe(0)
    expect(processesOn(folder)).toEqual([])

    const second = await startParley({ DATA_DIR: folder })
    expect(await queryEmbedded(folder, 'select answer from kept')).toEqual([{ answer: 42 }])
    expect(readFileSync(join(folder, 'admin-token'), 'utf8')).toBe(token)
    expect(await second.signal('SIGINT')).toBe(0)
    expect(processesOn(folder)).toEqual([])
  },
  TIMEOUT,
)

test(
  'a first start that is killed while the data is made leaves nothing that stands in the way',
  async () => {
    const folder = dataFolder()
    const first = await runParley({ DATA_DIR: folder })
    const unfinished = () => readdirSync(folder).find((name) => name.startsWith('postgres.new-'))
    await until('initdb is at work', () => existsSync(join(folder, unfinished() ?? 'none', 'base')))
    await first.signal('SIGKILL')
    await untilGone(folder)
    expect(existsSync(join(folder, 'postgres'))).toBe(false)

    const second = await startParley({ DATA_DIR: folder })
    expect(unfinished()).toBeUndefined()
    expect(await second.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)

test(
  'a second process on the same folder is refused and does not affect the first',
  async () => {
    const folder = await readyFolder()
    const first = await startParley({ DATA_DIR: folder })
    const second = await runParley({ DATA_DIR: folder })
    await expectRefusal(second, `Another Parley (process ${first.pid}) uses the data folder ${folder}: stop that one`)
    await untilReady(first.address)
    expect(await first.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)

test(
  'of five processes on a new folder one starts and four are refused',
  async () => {
    const folder = dataFolder()
    const all = await Promise.all([1, 2, 3, 4, 5].map(() => runParley({ DATA_DIR: folder })))
    await Promise.all(all.map((one) => Promise.race([one.exited, one.says('Parley listens on')])))
    expect(all.filter((one) => one.output().includes('Parley listens on'))).toHaveLength(1)
    expect(all.filter((one) => one.output().includes('Another Parley'))).toHaveLength(4)
    for (const one of all) one.child.kill('SIGTERM')
    await untilGone(folder)
  },
  TIMEOUT,
)

test(
  'a port in use gets a message that says what to do',
  async () => {
    const folder = await readyFolder()
    const port = await freePort()
    const other = createServer().listen(port, '127.0.0.1')
    await once(other, 'listening')
    const parley = await runParley({ DATA_DIR: folder, PORT: String(port) })
    await expectRefusal(parley, `Port ${port} is in use: stop what listens there or set PORT`)
    expect(processesOn(folder)).toEqual([])
    other.close()
  },
  TIMEOUT,
)

test(
  'ports in use are named together: that of the sandbox, and that of the service',
  async () => {
    const folder = await readyFolder()
    const ports = [await freePort(), await freePort()]
    const others = ports.map((port) => createServer().listen(port, '127.0.0.1'))
    await Promise.all(others.map((other) => once(other, 'listening')))
    const [port, sandboxPort] = ports.map(String)
    const env = { DATA_DIR: folder, PORT: port!, SANDBOX: 'on', SANDBOX_PORT: sandboxPort! }
    const both = `Ports ${port} and ${sandboxPort} are in use: stop what listens there or set PORT and SANDBOX_PORT`
    await expectRefusal(await runParley(env), both)
    const one = `Port ${sandboxPort} is in use: stop what listens there or set SANDBOX_PORT or SANDBOX=off`
    await expectRefusal(await runParley({ ...env, PORT: '0' }), one)
    expect(processesOn(folder)).toEqual([])
    others.forEach((other) => void other.close())
  },
  TIMEOUT,
)

test('data of another major version gets a message that names both', async () => {
  const folder = dataFolder()
  mkdirSync(join(folder, 'postgres'))
  writeFileSync(join(folder, 'postgres', 'PG_VERSION'), '16\n')
  const parley = await runParley({ DATA_DIR: folder })
  await expectRefusal(parley, 'is of PostgreSQL 16', 'carries PostgreSQL 18', 'pg_dump', 'set DATA_DIR')
})

test('a database that does not answer gets a message with its host and without its password', async () => {
  const port = await freePort()
  const parley = await runParley({
    DATABASE_URL: `postgres://parley:hidden@127.0.0.1:${port}/parley`,
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    ADMIN_TOKEN: 'a'.repeat(32),
  })
  await expectRefusal(parley, `PostgreSQL at 127.0.0.1:${port} does not answer`, 'correct DATABASE_URL')
  expect(parley.output()).not.toContain('hidden')
})

test('keys that cannot read the stored secrets are refused before anything is served', async () => {
  const { db, url } = await createTestDatabase()
  const [first, other] = [1, 2].map(() => randomBytes(32).toString('base64'))
  await db`insert into companies (name) values ('Acme')`
  await db`
    insert into email_settings (company_id, from_address, smtp_url)
    select id, 'a@x.example', ${createCipher([first!]).encrypt('smtp://user:password@mail.example')} from companies
  `
  const settings = { DATABASE_URL: url, ADMIN_TOKEN: 'operator-token-for-tests-0123456789' }
  const parley = await runParley({ ...settings, ENCRYPTION_KEY: other! })
  await expectRefusal(parley, 'The database holds secrets encrypted with the key', 'add the missing key')
  expect(parley.output()).not.toContain('listens on')
})

test('all faults of the settings are reported at once', async () => {
  const parley = await runParley({ PORT: '99999', ROLE: 'boss', ENCRYPTION_KEY: 'short' })
  await expectRefusal(parley, 'PORT must be', 'ROLE must be', 'ENCRYPTION_KEY must be')
})

test(
  'a database of one’s own is used as it is and left running',
  async () => {
    const folder = dataFolder()
    const url = inject('databaseUrl')
    const name = `own_${process.pid}`
    const server = connect(url.replace('/parley?', '/postgres?'), { max: 1 })
    await server.unsafe(`create database ${name}`)
    const parley = await startParley({
      DATA_DIR: folder,
      DATABASE_URL: url.replace('/parley?', `/${name}?`),
      ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
      ADMIN_TOKEN: 'a'.repeat(32),
    })
    await untilReady(parley.address)
    expect(await parley.signal('SIGTERM')).toBe(0)
    expect(readdirSync(folder)).toEqual(['media'])
    await server.unsafe(`drop database ${name}`)
    await server.end()
  },
  TIMEOUT,
)

test(
  'a request in flight is answered before the stop, with the database still there',
  async () => {
    const folder = await readyFolder()
    const parley = await startParley({ DATA_DIR: folder }, { script: SLOW })
    const answer = fetch(`${parley.address}/slow`)
    await parley.says('slow request has started')
    // The whole group, twice, as a terminal's Ctrl-C through npm arrives.
    process.kill(-parley.pid, 'SIGINT')
    process.kill(-parley.pid, 'SIGINT')
    expect(await (await answer).json()).toEqual({ slept: 2 })
    expect(await parley.exited).toBe(0)
    expect(parley.output()).not.toContain('http.drain.cut')
    expect(processesOn(folder)).toEqual([])
  },
  TIMEOUT,
)

test(
  'a second signal ends the process at once, and the server goes too',
  async () => {
    const folder = await readyFolder()
    const parley = await startParley({ DATA_DIR: folder }, { script: SLOW })
    const answer = fetch(`${parley.address}/endless`).catch(() => 'cut off')
    await parley.says('endless request has started')
    parley.child.kill('SIGTERM')
    await parley.says('parley.stopping')
    // A signal that follows at once counts as the same one.
    await sleep(1_000)
    expect(await parley.signal('SIGTERM')).toBe(1)
    expect(await answer).toBe('cut off')
    await untilGone(folder)
  },
  TIMEOUT,
)

test(
  'an uncaught fault stops everything, with code 1',
  async () => {
    const folder = await readyFolder()
    const parley = await startParley({ DATA_DIR: folder }, { script: SLOW })
    await fetch(`${parley.address}/crash`).catch(() => undefined)
    expect(await parley.exited).toBe(1)
    expect(parley.output()).toContain('parley.crashed')
    expect(processesOn(folder)).toEqual([])
  },
  TIMEOUT,
)

test(
  'a database that goes away during the migrations is reported without a stack, and the next start goes on',
  async () => {
    const { db, url } = await createTestDatabase()
    await db.unsafe('drop schema public cascade; create schema public')
    const environment = {
      DATABASE_URL: url,
      ADMIN_TOKEN: 'a'.repeat(32),
      ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    }
    const lock = await holdMigrations(url)
    const cutOff = await runParley(environment)
    const waiting = sql`
      select pid from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())
    `
    await until('the migrations are under way', async () => (await db`${waiting}`).length === 1)
    await db`select pg_terminate_backend(pid) from (${waiting}) as work`
    await expectRefusal(cutOff, 'The database went away while Parley was starting', 'start Parley again')
    await lock.end({ timeout: 0 })

    const next = await startParley(environment)
    expect(await next.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)

/** Keeps every other process from migrating, until it is closed. */
async function holdMigrations(url: string) {
  const lock = connect(url, { max: 1 })
  await lock`select pg_advisory_lock(7237455201)`
  return lock
}
