import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { fixedClock, systemClock } from '../../platform/clock.ts'
import { startDatabaseClock } from './database-clock.ts'

const { db } = await createTestDatabase()
const SKEW_MS = 120_000

test.each([SKEW_MS, -SKEW_MS])('a process whose clock is %i ms off uses the time of the database', async (skewMs) => {
  const own = { now: () => new Date(systemClock.now().getTime() + skewMs) }
  const clock = await startDatabaseClock(db, own)
  onTestFinished(() => clock.stop())
  const [row] = await db<[{ at: Date }]>`select clock_timestamp() as at`
  expect(Math.abs(clock.now().getTime() - row.at.getTime())).toBeLessThan(5_000)
})

test('between measurements it goes on with the clock of the process', async () => {
  const own = fixedClock('2026-01-01T00:00:00Z')
  const clock = await startDatabaseClock(db, own)
  onTestFinished(() => clock.stop())
  const before = clock.now().getTime()
  own.advance(1_000)
  expect(clock.now().getTime() - before).toBe(1_000)
})
