import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { migrate } from './migrate.ts'

test('a second run applies nothing', async () => {
  const { db } = await createTestDatabase()
  expect(await migrate(db)).toEqual([])
})
