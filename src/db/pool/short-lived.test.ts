import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { promotedBy } from '../../../test/schema/promoted.ts'

const { db } = await createTestDatabase()

// With postgres.js, half of the parameters and rows of statements survived into the old generation, where collecting them is
// expensive (docs/decisions/0005-a-driver-of-our-own.md, the sixth defect).
test.each([
  ['statements', () => db`select repeat(${'x'.repeat(900)}, 1) as words from generate_series(1, 20)`],
  [
    'transactions',
    () => db.begin((tx) => tx`select repeat(${'x'.repeat(900)}, 1) as words from generate_series(1, 20)`),
  ],
])('what %s hold is gone with them', async (_, run) => {
  const count = 2_000
  const promotedByEach = async () => {
    const promoted = await promotedBy(async () => {
      for (let i = 0; i < count; i += 1) await run()
    })
    return promoted / count
  }
  // What earlier files of this worker still do may grow old meanwhile; what the statements hold does so each time.
  const measured: number[] = []
  while (measured.length < 5 && !measured.some((bytes) => bytes < 2_000)) measured.push(await promotedByEach())
  expect(Math.min(...measured), measured.join()).toBeLessThan(2_000)
})
