import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as everyTest, expect, inject, onTestFinished } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { createTestKey } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { canMount, fillDisk, makeReadOnly, mountDisk, removeDisk } from '../faults/database/disk.ts'
import { dataFolder, runParley, startParley, until, untilReady } from '../parley-process.ts'

const TIMEOUT = 300_000
/** Where this user may mount no disk, the tests are skipped. */
const test = everyTest.skipIf(!canMount())
const SECRETS = { ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'), ADMIN_TOKEN: 'x'.repeat(32) }
/** Longer than what a stream holds. */
const LIST = `email,first_name\n${Array.from({ length: 50_000 }, (_, n) => `a${n}@example.com,Ada\n`).join('')}`

/** A data folder with a disk of its own, which some bytes are on. */
function diskFolder(): string {
  const folder = mountDisk(dataFolder())
  onTestFinished(() => removeDisk(folder))
  writeFileSync(join(folder, 'list.csv'), LIST)
  return folder
}

test(
  'uploads to a full disk are answered service_unavailable, and a command says what to do',
  async () => {
    const { db, url } = await createTestDatabase()
    const { companyId, headers } = await createTestKey(db)
    const folder = diskFolder()
    const env = { ...SECRETS, DATABASE_URL: url, DATA_DIR: folder }
    const parley = await startParley(env)
    const upload = async () => {
      const answer = await fetch(`${parley.address}/public/v1/contacts/import`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'text/csv' },
        body: LIST,
      })
      return { status: answer.status, body: await answer.json() }
    }
    const giveBack = fillDisk(folder)!
    expect(await upload()).toEqual({
      status: 503,
      body: { error: { code: 'service_unavailable', message: expect.stringContaining('The disk for files is full') } },
    })
    await parley.says(`The disk of the data folder ${join(folder, 'media')} is full. Free some space`)
    const command = await runParley(env, { args: ['contacts', 'import', String(companyId), join(folder, 'list.csv')] })
    expect([await command.exited, command.output()]).toEqual([
      1,
      `error: The disk of the data folder ${join(folder, 'media')} is full. Free some space, or set DATA_DIR to a folder on another disk\n`,
    ])
    giveBack()
    expect((await upload()).status).toBe(202)
    expect(await parley.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)

test(
  'a start on a read-only data folder is refused with a sentence, with a database in it and without',
  async () => {
    const { url } = await createTestDatabase()
    const folder = diskFolder()
    makeReadOnly(folder)
    for (const env of [{}, { ...SECRETS, DATABASE_URL: url }]) {
      const parley = await runParley({ ...env, DATA_DIR: folder })
      expect(await parley.exited).toBe(1)
      expect(parley.output()).toMatch(
        /The data folder \S+ can't be used: its disk is read-only\. Set DATA_DIR to a folder that you may write/,
      )
      expect(parley.output()).not.toMatch(/\n\s+at /)
    }
  },
  TIMEOUT,
)

test(
  'the embedded server that a full disk ended comes back by itself when there is room',
  async () => {
    const folder = diskFolder()
    cpSync(join(inject('clusterFolder'), 'postgres'), join(folder, 'postgres'), { recursive: true })
    const parley = await startParley({ DATA_DIR: folder })
    await untilReady(parley.address)
    const db = connect(`postgres://parley@localhost/parley?host=${encodeURIComponent(join(folder, 'postgres'))}`, {
      max: 1,
    })
    onTestFinished(() => db.end({ timeout: 0 }))
    await db`insert into companies (name) values ('Kept')`
    const giveBack = fillDisk(folder)!
    // Each file of the write-ahead log takes 16 MB, of which there are none.
    await until('the disk ends the server', async () => {
      await db`select pg_logical_emit_message(false, 'test', 'text'), pg_switch_wal()`.catch(() => {})
      return parley.output().includes('database.disk.full')
    })
    expect((await fetch(`${parley.address}/healthz`)).status).toBe(200)
    expect((await fetch(`${parley.address}/readyz`)).status).toBe(503)
    giveBack()
    await untilReady(parley.address)
    expect(await db`select name from companies`).toEqual([{ name: 'Kept' }])
    await parley.says('database.restarted')
    expect(await parley.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)
