import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { arrayText } from './array-text.ts'

const { db } = await createTestDatabase()

test('the database reads what was written, whatever the texts', async () => {
  const text = fc.string({ unit: 'binary' }).map((one) => one.replaceAll('\0', '').toWellFormed())
  const special = fc.constantFrom('', 'null', 'NULL', '"', '\\', '\\"', '{', '}', '{}', ',', "'", ' ', '\n', '🙂')
  const values = fc.array(fc.oneof(text, special, fc.constant(null)), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(values, async (given) => {
      const [row] = await db<{ read: (string | null)[] }[]>`select to_jsonb(${arrayText(given)}::text[]) as read`
      expect(row?.read).toEqual(given)
    }),
    { numRuns: 300 },
  )
})
