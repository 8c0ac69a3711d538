import { randomInt } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { eventually } from '../service.ts'
import { startImports } from './import-world.ts'

const { service, newCompany, bring } = await startImports()

test('an Idempotency-Key brings a list in once', async () => {
  const company = await newCompany()
  const send = () =>
    company.api('POST', '/contacts/import', 'email\na@example.com\n', {
      'content-type': 'text/csv',
      'idempotency-key': `list-${randomInt(1e9)}`,
    })
  const key = { 'content-type': 'text/csv', 'idempotency-key': 'list' }
  const first = await company.api('POST', '/contacts/import', 'email\na@example.com\n', key)
  const second = await company.api('POST', '/contacts/import', 'email\na@example.com\n', key)
  expect([first.status, second.status, second.body.data.id]).toEqual([202, 202, first.body.data.id])
  expect((await send()).body.data.id).not.toBe(first.body.data.id)
})

test('an Idempotency-Key with another list of equal length is 422, and nothing of it is kept', async () => {
  const company = await newCompany()
  const key = { 'content-type': 'text/csv', 'idempotency-key': 'same' }
  const first = await company.api('POST', '/contacts/import', 'email\na@example.com\n', key)
  const other = await company.api('POST', '/contacts/import', 'email\nb@example.com\n', key)
  expect([first.status, other.status, other.body.error.code]).toEqual([202, 422, 'idempotency_key_reused'])
  const again = await company.api('POST', '/contacts/import', 'email\na@example.com\n', key)
  expect(again.body.data.id).toBe(first.body.data.id)
  const { db } = service
  await eventually(async () => {
    const rows = await db`select id from contact_imports where company_id = ${company.companyId}`
    return rows.length === 1
  })
})

describe('imports that wait', () => {
  /** Queued imports without a worker that runs them. */
  const leave = (companyId: number, count: number, bytes: number) => service.db`
    insert into contact_imports (
      company_id, format, storage_key, status, columns, size_bytes, rows, read_bytes, read_lines
    )
    select ${companyId}, 'csv', 'none', 'queued', '{email}', ${bytes}, 1, 0, 0 from generate_series(1, ${count}::int)
    returning id
  `

  test('are listed newest first, page by page', async () => {
    const company = await newCompany()
    const ids = (await leave(company.companyId, 5, 1)).map(({ id }) => id).toReversed()
    const page = async (query: string) => (await company.api('GET', `/contacts/imports?${query}`)).body.data
    const idsOf = (imports: { id: number }[]) => imports.map(({ id }) => id)
    expect(idsOf(await page(''))).toEqual(ids)
    expect(idsOf(await page('limit=2'))).toEqual(ids.slice(0, 2))
    expect(idsOf(await page(`limit=2&before=${ids[1]}`))).toEqual(ids.slice(2, 4))
    const malformed = await company.api('GET', '/contacts/imports?before=x')
    expect([malformed.status, malformed.body.error.details.fields[0].path]).toEqual([422, 'before'])
    expect((await page('limit=1'))[0]).toMatchObject({ status: 'queued', rows: 1, created: 0 })
    const other = await newCompany()
    expect((await other.api('GET', '/contacts/imports')).body.data).toEqual([])
  })

  test('are cancelled: nothing more of them is imported', async () => {
    const company = await newCompany()
    const [row] = await leave(company.companyId, 1, 1)
    const other = await newCompany()
    expect((await other.api('DELETE', `/contacts/imports/${row!.id}`)).status).toBe(404)
    const cancelled = await company.api('DELETE', `/contacts/imports/${row!.id}`)
    expect([cancelled.status, cancelled.body]).toEqual([200, { success: true }])
    const { body } = await company.api('GET', `/contacts/imports/${row!.id}`)
    expect(body.data).toMatchObject({ status: 'cancelled', created: 0, ended_at: expect.any(String) })
    expect((await company.api('DELETE', `/contacts/imports/${row!.id}`)).status).toBe(200)
  })

  test('are ten at most, and 2 GiB together: 422 beyond', async () => {
    const [many, large] = [await newCompany(), await newCompany()]
    await leave(many.companyId, 10, 1)
    await leave(large.companyId, 2, 1024 ** 3)
    for (const company of [many, large]) {
      const { status, body } = await bring(company, 'email\na@example.com\n')
      expect([status, body.error.code]).toEqual([422, 'validation_error'])
    }
    const rows = await service.db`select id from contact_imports where company_id > 0 and status = 'receiving'`
    expect(rows).toHaveLength(0)
  })
})

test('a list that breaks off is not kept', async () => {
  const company = await newCompany()
  const abort = new AbortController()
  const body = Readable.from(
    (async function* () {
      yield 'email\na@example.com\n'
      await new Promise((resume) => setTimeout(resume, 200))
      abort.abort()
      yield 'b@example.com\n'
    })(),
  )
  const init = {
    method: 'POST',
    headers: { authorization: `Bearer ${company.key.token}`, 'content-type': 'text/csv' },
    body: Readable.toWeb(body),
    duplex: 'half',
    signal: abort.signal,
  }
  await expect(fetch(`${service.url}/public/v1/contacts/import`, init as unknown as RequestInit)).rejects.toThrow()
  expect((await company.api('GET', '/contacts/export')).status).toBe(200)
  // A client that disconnected gets no answer; its list is deleted a moment later.
  await eventually(
    async () => (await service.db`select id from contact_imports where company_id = ${company.companyId}`).length === 0,
  )
})
