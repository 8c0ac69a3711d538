import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany } from '../../../test/world.ts'
import {
  discardListOf,
  endCancelled,
  endImport,
  findImport,
  insertImport,
  lockReceiving,
  queueImport,
  readImports,
  readRefusals,
  readWaiting,
  recordImportProgress,
  removeImport,
  startImport,
  type TakenList,
} from './contact-import-store.ts'

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

const LIST = {
  columns: ['email'],
  delimiter: ';',
  encoding: 'windows-1252',
  profile: 'brevo',
  consentWords: { yes: ['ja'], no: ['nein'] },
  ...{ sizeBytes: 100, rows: 3, readBytes: 10, readLines: 1 },
} satisfies TakenList
const input = { format: 'csv' as const, storageKey: 'key', clientId: null }

test('an import of another company with the same id is neither read nor changed', async () => {
  const companyId = await createCompany(db)
  const id = await insertImport(db, companyId, input)
  expect(await lockReceiving(db, companyId, id)).toBe(true)
  await queueImport(db, companyId, id, LIST)
  expect(await startImport(db, companyId, id)).toMatchObject({ ...LIST, storageKey: 'key' })
  await recordImportProgress(db, companyId, id, {
    ...{ from: 10, readBytes: 60, readLines: 3, created: 1, updated: 0, unchanged: 0 },
    refusals: [{ line: 3, reason: 'is empty', fields: [''] }],
  })
  await endImport(db, companyId, id, null)
  await discardListOf(db, companyId, id)
  expect(await readImports(db, companyId, id + 1, 10)).toMatchObject([{ id, status: 'completed', storageKey: null }])
  expect(await readRefusals(db, companyId, id, 0, 10)).toEqual([{ line: 3, reason: 'is empty', fields: [''] }])
})

test('an import of the company is cancelled or removed, and none of another company', async () => {
  const companyId = await createCompany(db)
  const [one, other] = [await insertImport(db, companyId, input), await insertImport(db, companyId, input)]
  await queueImport(db, companyId, one, LIST)
  expect(await endCancelled(db, companyId, one)).toBe(true)
  await removeImport(db, companyId, other)
  expect((await readImports(db, companyId, other + 1, 10)).map(({ id }) => id)).toEqual([one])
})
