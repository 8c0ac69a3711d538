import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { readContactCount } from '../../src/contacts/search/contact-list.ts'
import { ADMIN_TOKEN } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { endBlocked, holdOpen, untilBlocked } from '../held-locks.ts'
import { dataFolder, startParley } from '../parley-process.ts'
import { eventually } from '../service.ts'
import { expireLeases } from '../world.ts'

const ROWS = 9_000

test('a process that is killed in the middle of an import: the next goes on, and each row is applied once', async () => {
  const { db, url } = await createTestDatabase()
  const env = {
    DATABASE_URL: url,
    DATA_DIR: dataFolder(),
    ADMIN_TOKEN,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  }
  const first = await startParley(env)
  const call = async (address: string, method: string, path: string, body: string | undefined, headers: object) => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: what the test asserts
    return { status: response.status, body: (await response.json()) as any }
  }
  const operator = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const company = await call(
    first.address,
    'POST',
    '/admin/v1/companies',
    '{"name":"Acme","rateLimitPerMinute":100000}',
    operator,
  )
  const companyId: number = company.body.id
  const keys = `/admin/v1/companies/${companyId}/api-keys`
  const key = await call(first.address, 'POST', keys, '{"name":"Key","permissions":["WhatsApp"]}', operator)
  const headers = { authorization: `Bearer ${key.body.token}` }

  // Every row says something new, of 6,000 contacts; a row that came twice would be one change of consent too many.
  const contacts = (ROWS * 2) / 3
  const rows = Array.from({ length: ROWS }, (_, i) =>
    i % 50 === 49 ? 'no-key,,' : `p${i % contacts}@example.com,Name ${i},${i < contacts}`,
  )
  const list = `email,first_name,marketing_consent.email\n${rows.join('\n')}\n`
  // The import waits in its middle: another transaction writes a contact with the same address.
  const release = await holdOpen(
    db,
    `insert into contacts (company_id, email, email_key, source, source_type)
     values (${companyId}, 'p4000@example.com', 'p4000@example.com', 'test', 'test')`,
  )
  const taken = await call(first.address, 'POST', '/public/v1/contacts/import', list, {
    ...headers,
    'content-type': 'text/csv',
  })
  expect(taken.status).toBe(202)
  const path = `/public/v1/contacts/imports/${taken.body.data.id}`
  await untilBlocked(db)
  const seen = (await call(first.address, 'GET', path, undefined, headers)).body.data.rows_read
  await first.signal('SIGKILL')
  await endBlocked(db)
  await release()
  expect(seen).toBeGreaterThan(0)
  expect(seen).toBeLessThan(ROWS)

  expect(await db`select status from contact_imports`).toEqual([{ status: 'running' }])
  await expireLeases(db)
  const second = await startParley(env)
  const progress = async () => (await call(second.address, 'GET', path, undefined, headers)).body.data
  await eventually(async () => (await progress()).ended_at !== null, 120_000)
  const done = await progress()
  const refused = ROWS / 50
  const created = contacts - contacts / 50
  expect(done).toMatchObject({ status: 'completed', rows_read: ROWS, created, unchanged: 0, refused })
  expect(done.updated).toBe(ROWS - refused - created)
  const [stored] = await db`
    select
      (select count(*) from contacts where company_id = ${companyId}) as contacts,
      (select count(*) from consents where company_id = ${companyId}) as consents,
      (select count(*) from contact_import_refusals where company_id = ${companyId}) as refusals
  `
  expect(await readContactCount(db, companyId)).toBe(created)
  expect(stored).toEqual({ contacts: created, consents: ROWS - refused, refusals: refused })
  await second.signal('SIGTERM')
}, 300_000)
