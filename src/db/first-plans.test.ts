import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Db } from './connect.ts'

type Key = { name: string; columns: string[] }

/** Tables that name their rows by company and something else, most of whose plans are made while they are empty. */
const keysOf = (db: Db) => db<Key[]>`
  select class.relname as name, array_agg(attribute.attname::text order by place) as columns
  from pg_index key
  join pg_class class on class.oid = key.indrelid and class.relnamespace = 'public'::regnamespace
  cross join unnest(key.indkey) with ordinality as part (number, place)
  join pg_attribute attribute on (attribute.attrelid, attribute.attnum) = (key.indrelid, part.number)
  where key.indisprimary and not class.relispartition
  group by class.relname
  having (array_agg(attribute.attname order by place))[1] = 'company_id' and count(*) > 1
`

test('a row of an empty table will be looked for by its key, however many its company has', async () => {
  const { db } = await createTestDatabase()
  const keys = await keysOf(db)
  expect(keys.length).toBeGreaterThan(10)
  const others: string[] = []
  for (const { name, columns } of keys) {
    const where = columns.map((column, place) => `${column} = $${place + 1}`).join(' and ')
    const plan = await db.begin(async (tx) => {
      await tx`set local enable_seqscan = off`
      return tx.unsafe(`explain (generic_plan, format json) select * from ${name} where ${where}`)
    })
    const [index] = /[a-z0-9_]+_pkey/.exec(JSON.stringify(plan)) ?? []
    if (index === undefined) others.push(name)
  }
  expect(others).toEqual([])
})
