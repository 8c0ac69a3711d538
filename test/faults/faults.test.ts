import { expect, test } from 'vitest'
import { total } from './counters.ts'
import { startPostgres } from './database/postgres.ts'
import { postgresFaults } from './database/postgres-faults.ts'
import { CONTROL, QUICK } from './plan.ts'
import { run } from './run.ts'

const TIMEOUT = 900_000
const quiet = () => {}

test.concurrent(
  'among kills, restarts and a promotion nothing acknowledged is lost, doubled, out of order or another person’s',
  async () => {
    const { counts, errors } = await run({ ...QUICK, seed: 16 }, startPostgres, postgresFaults(QUICK), quiet)
    expect(total(counts), JSON.stringify({ counts, errors })).toBe(0)
  },
  TIMEOUT,
)

test.concurrent(
  'a service that answers before it has stored an event loses some, and the counters see it',
  async () => {
    const { counts } = await run({ ...CONTROL, seed: 16 }, startPostgres, postgresFaults(CONTROL), quiet)
    expect(counts['messages lost']).toBeGreaterThan(0)
  },
  TIMEOUT,
)
