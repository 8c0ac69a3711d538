import { GCProfiler } from 'node:v8'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'

const { db } = await createTestDatabase()

type Collection = ReturnType<GCProfiler['stop']>['statistics'][number]

/** Bytes that collections of young objects moved to the old ones. */
function promotedIn(statistics: readonly Collection[]): number {
  const old = ({ heapSpaceStatistics }: Collection['beforeGC']) =>
    heapSpaceStatistics.find(({ spaceName }) => spaceName === 'old_space')?.spaceUsedSize ?? 0
  return statistics
    .filter(({ gcType }) => gcType === 'Scavenge')
    .reduce((sum, { beforeGC, afterGC }) => sum + old(afterGC) - old(beforeGC), 0)
}

// Without our patch half of what statements hand over and read grows old, and is collected with great effort later
// (docs/decisions/0005-a-patched-driver.md).
test.each([
  ['statements', () => db`select repeat(${'x'.repeat(900)}, 1) as words from generate_series(1, 20)`],
  [
    'transactions',
    () => db.begin((tx) => tx`select repeat(${'x'.repeat(900)}, 1) as words from generate_series(1, 20)`),
  ],
])('what %s hold is gone with them', async (_, run) => {
  const count = 2_000
  const profiler = new GCProfiler()
  profiler.start()
  for (let i = 0; i < count; i += 1) await run()
  const promoted = promotedIn(profiler.stop().statistics)
  expect(promoted / count).toBeLessThan(2_000)
})
