import { expect, test } from 'vitest'
import { createInserts } from './moved-rows.ts'

/** The tables and numbers of rows of each statement. */
async function statementsOf(rows: [table: 'contacts' | 'messages', row: string][]): Promise<[string, number][]> {
  const statements: [string, number][] = []
  const { add, flush } = createInserts(async (table, inserted) => void statements.push([table, inserted.length]))
  for (const [table, row] of rows) await add(table, row)
  await flush()
  return statements
}

test('a statement inserts 200 rows of one table at most', async () => {
  const rows = Array.from({ length: 450 }, () => ['contacts', '{}'] as ['contacts', string])
  expect(await statementsOf([...rows, ['messages', '{}']])).toEqual([
    ['contacts', 200],
    ['contacts', 200],
    ['contacts', 50],
    ['messages', 1],
  ])
})

test('a statement holds 8 MiB of rows at most, or one row', async () => {
  const row = (mebibytes: number): ['contacts', string] => ['contacts', 'x'.repeat(mebibytes * 1024 * 1024)]
  expect(await statementsOf([row(3), row(3), row(3), row(20), row(1)])).toEqual([
    ['contacts', 2],
    ['contacts', 1],
    ['contacts', 1],
    ['contacts', 1],
  ])
})
