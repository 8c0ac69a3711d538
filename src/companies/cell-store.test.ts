import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { joinCell } from './cell-store.ts'
import { createCompany } from './company.ts'

const { db } = await createTestDatabase()

test('the first company of cell 12 has the id 12000001, and the database is refused by every other cell', async () => {
  await joinCell(db, 12)
  await joinCell(db, 12)
  expect((await createCompany(db, { name: 'Acme' })).id).toBe(12_000_001)
  await expect(joinCell(db, 0)).rejects.toThrow('The database belongs to cell 12, not to cell 0: set CELL=12')
})

test('no company has an id beyond the range of its cell', async () => {
  await db`select setval(pg_get_serial_sequence('companies', 'id'), 13000000)`
  await expect(createCompany(db, { name: 'One too many' })).rejects.toThrow('reached maximum value')
})

test('a database that has issued company ids without a cell belongs to cell 0, and goes on with its ids', async () => {
  const { db: old } = await createTestDatabase()
  const { id } = await createCompany(old, { name: 'Acme' })
  expect(id).toBe(1)
  await expect(joinCell(old, 3)).rejects.toThrow('The database belongs to cell 0, not to cell 3')
  await joinCell(old, 0)
  expect((await createCompany(old, { name: 'Next' })).id).toBe(2)
  await expect(joinCell(old, 1)).rejects.toThrow('The database belongs to cell 0')
})
