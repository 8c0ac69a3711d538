import { randomBytes } from 'node:crypto'
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { dataFolder, runParley, untilReady } from '../parley-process.ts'
import { MIGRATIONS } from '../schema/baseline.ts'
import { createTestFolder } from '../temporary-folder.ts'

/** `STARTS=20` makes as many of each kind. */
const STARTS = Number(process.env.STARTS ?? 1)
const TIMEOUT = 120_000 + STARTS * 180_000
const ROLES = ['api', 'api', 'worker', 'worker']

/** A database without any table, dropped when the test ends. */
async function createEmptyDatabase(): Promise<string> {
  const name = `starts_${randomBytes(6).toString('hex')}`
  const own = inject('databaseUrl')
  const server = connect(own.replace('/parley?', '/postgres?'), { max: 1 })
  await server.unsafe(`create database ${name}`)
  onTestFinished(async () => {
    await server.unsafe(`drop database if exists ${name} with (force)`)
    await server.end()
  })
  return own.replace('/parley?', `/${name}?`)
}

/** A database of an earlier version: its last migrations are missing. */
async function createOlderDatabase(): Promise<string> {
  const url = await createEmptyDatabase()
  const folder = await createTestFolder()
  for (const name of readdirSync(MIGRATIONS)) if (name < '0032') cpSync(join(MIGRATIONS, name), join(folder, name))
  const db = connect(url, { max: 1 })
  // Today's functions and views need today's tables.
  await migrate(db, { source: { migrations: folder, objects: folder } })
  await db.end()
  return url
}

/** Starts all processes at the same moment, waits until each is ready, and stops them. */
async function startTogether(url: string): Promise<(number | null)[]> {
  const env = {
    DATABASE_URL: url,
    DATA_DIR: dataFolder(),
    ADMIN_TOKEN: 'operator-token-for-tests-0123456789',
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
  }
  const processes = await Promise.all(ROLES.map((role) => runParley({ ...env, ROLE: role })))
  await Promise.all(processes.map((one) => one.says('Parley listens on')))
  await Promise.all(processes.map((one) => untilReady(one.address)))
  return await Promise.all(processes.map((one) => one.signal('SIGTERM')))
}

test.each([
  ['an empty', createEmptyDatabase],
  ['an older', createOlderDatabase],
])(
  'two api and two worker processes that start at the same moment on %s database all serve',
  { timeout: TIMEOUT },
  async (_, createDatabase) => {
    for (let start = 1; start <= STARTS; start += 1) {
      expect(await startTogether(await createDatabase()), `start ${start}`).toEqual([0, 0, 0, 0])
    }
  },
)
