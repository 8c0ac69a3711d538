import { expect, test } from 'vitest'
import { createTestCompany } from '../../test/api.ts'
import { createTestDatabase } from '../../test/database.ts'
import { createFolder } from './contact-fold.ts'
import { upsertContacts } from './contact-upsert.ts'

const { db } = await createTestDatabase()
const BY = { clientId: null, source: 'api' }

async function countWaiting(): Promise<number> {
  const rows = await db`select from contact_changes`
  return rows.length
}

test('folding waits for lists that come in, but not for ever', async () => {
  const companyId = await createTestCompany(db)
  await db`
    insert into contact_imports (
      company_id, format, storage_key, status, columns, size_bytes, rows, read_bytes, read_lines
    )
    values (${companyId}, 'csv', 'list', 'running', '{}', 1, 1, 0, 0)
  `
  const [patient, hasty] = [createFolder(db, 60_000), createFolder(db, 0)]
  await upsertContacts(db, companyId, [{ email: 'first@example.com' }], BY)
  await patient()
  await hasty()
  expect(await countWaiting()).toBe(0)
  await upsertContacts(db, companyId, [{ email: 'second@example.com' }], BY)
  await patient()
  expect(await countWaiting()).toBe(1)
  await hasty()
  expect(await countWaiting()).toBe(0)
  await upsertContacts(db, companyId, [{ email: 'third@example.com' }], BY)
  await patient()
  expect(await countWaiting()).toBe(1)
  await db`update contact_imports set status = 'completed'`
  await patient()
  expect(await countWaiting()).toBe(0)
})

test('what is more than goes in at once is folded to its end', async () => {
  const companyId = await createTestCompany(db)
  for (let list = 0; list < 5; list += 1) {
    const writes = Array.from({ length: 1_000 }, (_, place) => ({ email: `m${list}-${place}@example.com` }))
    await upsertContacts(db, companyId, writes, BY)
  }
  await createFolder(db)()
  expect(await countWaiting()).toBe(0)
  const [words] = await db<{ count: number }[]>`
    select count(*)::int as count from contact_words where company_id = ${companyId}
  `
  expect(words?.count).toBe(5_000)
}, 30_000)
