import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany, register } from '../../../test/webhook-fixture.ts'
import { connect, type Db } from '../../db/connect.ts'
import { type ClaimRequest, claimJobs } from '../../queue/claim/claim-store.ts'
import { jobStats } from '../../queue/stats/job-stat-store.ts'
import { DELIVER, DELIVERIES, deliveryLaneOf } from './delivery-table.ts'

const { db, url } = await createTestDatabase()
const [today] = await db<[{ day: number }]>`select (now() at time zone 'UTC')::date - date '1970-01-01' as day`
const request: ClaimRequest = {
  ...{ kind: DELIVER, table: DELIVERIES, batches: 1, batchSize: 3, laneCap: 10, companyCap: 1_000 },
  ...{ afterLane: '', leaseMs: 15_000, partitions: { first: today.day - 1, last: today.day + 1 } },
}
let companyId: number
let registrationId: number

beforeEach(async () => {
  await db`truncate deliveries, delivery_attempts, envelopes`
  companyId = await createCompany(db)
  registrationId = (await register(db, companyId)).id
})

/** Creates deliveries due in the given seconds, with the given attempts; returns their ids. */
async function add(count: number, dueInSeconds: number, attempts = 0, of = registrationId): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    insert into deliveries (company_id, registration_id, event, event_id, attempts, due_at)
    select ${companyId}, ${of}, 'e', 'w', ${attempts}, now() + ${dueInSeconds} * interval '1 s' from generate_series(1, ${count}::int)
    returning id
  `
  return rows.map(({ id }) => id)
}

const claim = async (on: Db = db, more: Partial<ClaimRequest> = {}) =>
  (await claimJobs(on, { ...request, ...more })).jobs.map(({ id }) => id)

test('a due retry is claimed before first attempts that have waited for longer, and one that is not due is not', async () => {
  const first = await add(4, -3_600)
  const late = await add(1, -1, 4)
  const [soon, later] = [await add(1, -2, 1), await add(1, 60, 1)]
  expect(new Set(await claim())).toEqual(new Set([...late, ...soon, first[0]]))
  expect(new Set(await claim())).toEqual(new Set(first.slice(1)))
  const claimed = await claimJobs(db, request)
  expect(claimed.jobs).toEqual([])
  expect(claimed.nextDueInMs).toBeGreaterThan(30_000)
  await db`update deliveries set due_at = now() where id = ${later[0]!}`
  expect(await claim()).toEqual(later)
})

test('a lane whose retries are not due yet gives its first attempts, and is counted as due', async () => {
  const { id: other } = await register(db, companyId)
  await add(2, 60, 1)
  const first = await add(1, -30)
  await add(2, 60, 1, other)
  expect(await jobStats(db, [DELIVER], DELIVERIES)).toMatchObject([{ due: 1 }])
  expect((await jobStats(db, [DELIVER], DELIVERIES))[0]?.oldestDueAgeSeconds).toBeGreaterThan(25)
  expect(await claim()).toEqual(first)
})

test('each registration gives a batch before one of them gives a second, whatever it has to repeat', async () => {
  const { id: other } = await register(db, companyId)
  await add(100, -60, 1)
  await add(3, -1, 0, other)
  const { jobs } = await claimJobs(db, { ...request, batches: 2 })
  const lanes = Map.groupBy(jobs, ({ lane }) => lane)
  expect(lanes.get(deliveryLaneOf(companyId, registrationId))).toHaveLength(3)
  expect(lanes.get(deliveryLaneOf(companyId, other))).toHaveLength(3)
})

test('a claim reads some dozen rows of ten thousand due retries and ten thousand first attempts', async () => {
  const session = connect(url, { max: 1, pinPlans: true })
  onTestFinished(() => session.end())
  await session.begin((tx) => claimJobs(tx, request))
  await add(10_000, -60, 1)
  await add(10_000, -3_600)
  await db`vacuum analyze deliveries`
  await session.begin(async (tx) => {
    const readRows = async (): Promise<number> => {
      const [row] = await tx<[{ rows: number }]>`
        select sum(seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname ~ '^deliveries'
      `
      return row.rows
    }
    const before = await readRows()
    expect(await claim(tx)).toHaveLength(3)
    expect((await readRows()) - before).toBeLessThan(100)
  })
})
