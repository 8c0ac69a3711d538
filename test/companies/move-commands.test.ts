import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Pool } from '../../src/db/connect.ts'
import { createTestDatabase } from '../database.ts'
import { dataFolder, MAIN, until } from '../parley-process.ts'
import { createCompany } from '../world.ts'

const [source, target] = [await createTestDatabase(), await createTestDatabase()]
const PASSPHRASE = 'a passphrase of the move'
const ENCRYPTION_KEY = randomBytes(32).toString('base64')
const CONTACTS = 30_000

/** `parley company …` on one of the databases, with the passphrase on standard input. */
function company(url: string, folder: string, ...args: string[]) {
  const child = spawn(process.execPath, [MAIN, 'company', ...args], {
    env: {
      PATH: process.env.PATH ?? '',
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      DATABASE_URL: url,
      DATA_DIR: join(folder, 'data'),
      ADMIN_TOKEN: 'operator-token-for-tests-0123456789',
      ENCRYPTION_KEY,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  child.stdin.on('error', () => {})
  child.stdin.end(PASSPHRASE)
  const exited = once(child, 'close').then(([code]) => ({ code: code as number | null, output }))
  return { child, exited }
}

const digestOf = async (db: Pool, companyId: number) => {
  const [row] = await db`
    select count(*)::int as contacts, md5(string_agg(contacts::text, '' order by id)) as digest
    from contacts where company_id = ${companyId}
  `
  return row
}

async function countContacts(db: Pool, companyId: number): Promise<number> {
  const [row] = await db<[{ count: number }]>`
    select count(*)::int as count from contacts where company_id = ${companyId}
  `
  return row.count
}

test('a company moves by the commands, also when export, import and release are killed and run again', async () => {
  const folder = dataFolder()
  const file = join(folder, 'company.ndjson')
  await source.db`select setval(pg_get_serial_sequence('companies', 'id'), 5000)`
  const companyId = await createCompany(source.db, 'Moving')
  await source.db`
    insert into contacts (company_id, email, first_name, source, source_type)
    select ${companyId}, 'c' || i || '@example.com', repeat('x', 100), 'API', 'test'
    from generate_series(1, ${CONTACTS}::int) as i
  `
  const before = await digestOf(source.db, companyId)
  const id = String(companyId)

  const wrong = await company(source.url, folder, 'release', id).exited
  expect([wrong.code, wrong.output]).toEqual([1, expect.stringContaining('is not locked: export it first')])

  const exporting = company(source.url, folder, 'export', id, file)
  await until('the export writes', () => existsSync(`${file}.partial`) && statSync(`${file}.partial`).size > 500_000)
  exporting.child.kill('SIGKILL')
  expect((await exporting.exited).code).toBe(null)
  expect(existsSync(file)).toBe(false)
  const early = await company(target.url, folder, 'import', `${file}.partial`).exited
  expect([early.code, early.output]).toEqual([1, expect.stringContaining('The file is damaged')])
  const exported = await company(source.url, folder, 'export', id, file).exited
  expect(exported.output).toContain('lines')
  expect([exported.code, existsSync(`${file}.partial`)]).toEqual([0, false])
  expect(readFileSync(file, 'utf8').match(/"table":"contacts"/g)).toHaveLength(CONTACTS)

  const importing = company(target.url, folder, 'import', file)
  await until('the import inserts', async () => {
    const rows = await target.db`
      select from pg_locks
      where relation = 'contacts'::regclass and mode = 'RowExclusiveLock'
        and database = (select oid from pg_database where datname = current_database())
    `
    return rows.length > 0
  })
  importing.child.kill('SIGKILL')
  expect((await importing.exited).code).toBe(null)
  expect(await digestOf(target.db, companyId)).toMatchObject({ contacts: 0 })
  const imported = await company(target.url, folder, 'import', file).exited
  expect(imported.code, imported.output).toBe(0)
  expect(await digestOf(target.db, companyId)).toEqual(before)
  const again = await company(target.url, folder, 'import', file).exited
  expect([again.code, again.output]).toEqual([1, expect.stringContaining('exists here already')])

  const releasing = company(source.url, folder, 'release', id)
  await until('the release deletes', async () => (await countContacts(source.db, companyId)) < CONTACTS)
  releasing.child.kill('SIGKILL')
  await releasing.exited
  const released = await company(source.url, folder, 'release', id).exited
  // A release that was killed after its last row has nothing left to do.
  expect(released.output).toMatch(/success|not found/i)
  expect(await source.db`select from companies where id = ${companyId}`).toHaveLength(0)
  expect(await digestOf(source.db, companyId)).toMatchObject({ contacts: 0 })
  expect(await digestOf(target.db, companyId)).toEqual(before)
}, 300_000)

test('reopen unlocks a company that was exported', async () => {
  const folder = dataFolder()
  const id = await createCompany(source.db, 'Staying')
  await source.db`update companies set closed_at = now() where id = ${id}`
  expect((await company(source.url, folder, 'reopen', String(id)).exited).code).toBe(0)
  expect(await source.db`select closed_at from companies where id = ${id}`).toEqual([{ closedAt: null }])
  const refused = await company(source.url, folder, 'reopen', String(id)).exited
  expect([refused.code, refused.output]).toEqual([1, expect.stringContaining('is not locked')])
}, 300_000)
