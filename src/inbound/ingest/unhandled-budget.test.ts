import { beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { expireTable } from '../../../test/lifetimes.ts'
import { connect } from '../../db/connect.ts'
import { countUnhandled, createUnhandledBudget } from './admission.ts'

const { db, url } = await createTestDatabase()
const MIB = 1024 * 1024

beforeEach(async () => {
  await db`truncate unhandled_counts`
})

test.each([
  ['10,000 items', { bytes: 1, items: 10_000 }, { bytes: 1, items: 1 }],
  ['16 MiB', { bytes: 16 * MIB, items: 1 }, { bytes: 1, items: 1 }],
])('a client is refused after more than %s, until its hour ends', async (_what, most, more) => {
  await countUnhandled(db, [{ address: 'a', ...most }])
  expect(await createUnhandledBudget(db)('a')).toBe(0)
  await countUnhandled(db, [
    { address: 'a', ...more },
    { address: 'b', ...more },
  ])
  const refusedFor = createUnhandledBudget(db)
  expect(await refusedFor('a')).toBeGreaterThan(3_500)
  expect(await refusedFor('a')).toBeLessThanOrEqual(3_600)
  expect(await refusedFor('b')).toBe(0)
  await db`update unhandled_counts set window_ends_at = now() where address = 'a'`
  expect(await createUnhandledBudget(db)('a')).toBe(0)
  await countUnhandled(db, [{ address: 'a', ...more }])
  expect(await db`select address, bytes, items from unhandled_counts where address = 'a'`).toEqual([
    { address: 'a', ...more },
  ])
})

test('the count is exact across processes', async () => {
  const pools = [connect(url, { max: 5 }), connect(url, { max: 5 })]
  await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      pools[n % 2]!.begin((tx) =>
        countUnhandled(tx, [
          { address: n % 3 === 0 ? 'b' : 'a', bytes: 10, items: 2 },
          { address: n % 3 === 0 ? 'a' : 'b', bytes: 100, items: 3 },
        ]),
      ),
    ),
  )
  const counts = await db`select address, bytes, items from unhandled_counts order by address`
  expect(counts).toEqual([
    { address: 'a', bytes: 133 * 10 + 67 * 100, items: 133 * 2 + 67 * 3 },
    { address: 'b', bytes: 67 * 10 + 133 * 100, items: 67 * 2 + 133 * 3 },
  ])
  await Promise.all(pools.map((pool) => pool.end()))
})

test('counts whose hour is over are deleted', async () => {
  await countUnhandled(db, [
    { address: 'old', bytes: 1, items: 1 },
    { address: 'new', bytes: 1, items: 1 },
  ])
  await db`update unhandled_counts set window_ends_at = now() where address = 'old'`
  await expireTable(db, 'unhandled_counts')
  expect(await db`select address from unhandled_counts`).toEqual([{ address: 'new' }])
})
