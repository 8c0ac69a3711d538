import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany } from '../../../test/world.ts'
import { findImport, readWaiting, recordImportProgress } from './contact-import-store.ts'

const { db } = await createTestDatabase({ mirrors: true })

test('rows are counted once, though two workers report them from the same place', async () => {
  const companyId = await createCompany(db)
  const [row] = await db<{ id: number }[]>`
    insert into contact_imports (company_id, format, columns, size_bytes, rows, read_bytes, read_lines, status)
    values (${companyId}, 'csv', '{email}', 100, 3, 10, 1, 'running')
    returning id
  `
  const report = () =>
    recordImportProgress(db, companyId, row!.id, {
      ...{ from: 10, readBytes: 60, readLines: 3, created: 1, updated: 0, unchanged: 0 },
      refusals: [{ line: 3, reason: 'is empty', fields: [''] }],
    })
  expect(await report()).toBe(true)
  expect(await report()).toBe(false)
  expect(await findImport(db, companyId, row!.id)).toMatchObject({ created: 1, refused: 1 })
})

test('lists that wait are those of the company', async () => {
  const companyId = await createCompany(db)
  await db`
    insert into contact_imports (company_id, format, columns, size_bytes, rows, read_bytes, read_lines, storage_key, status)
    values (${companyId}, 'csv', '{email}', 100, 0, 0, 0, 'key', 'queued')
  `
  expect(await readWaiting(db, companyId)).toEqual({ lists: 1, bytes: 100 })
})
