import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { claimRequest, createCompany, register } from '../../../test/webhook-fixture.ts'
import { connect, type Db } from '../../db/connect.ts'
import type { Job } from '../../queue/job.ts'
import { jobStats } from '../../queue/job-stats.ts'
import { completeJobs } from '../../queue/job-store.ts'
import { claimDeliveries, type DeliveryClaim } from './claim-deliveries.ts'
import { DELIVER, DELIVERIES, deliveryLaneOf } from './delivery-store.ts'

const { db, url } = await createTestDatabase()
const [today] = await db<[{ day: number }]>`select (now() at time zone 'UTC')::date - date '1970-01-01' as day`
const request = { ...claimRequest(3), days: { first: today.day - 1, last: today.day + 1 } }
let companyId: number
let registrationId: number

beforeEach(async () => {
  await db`truncate deliveries, delivery_attempts, envelopes`
  companyId = await createCompany(db)
  registrationId = (await register(db, companyId)).id
})

/** Creates deliveries due in the given seconds, with the given attempts; returns their ids. */
async function add(
  count: number,
  dueInSeconds: number,
  attempts = 0,
  of = registrationId,
  company = companyId,
): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    insert into deliveries (company_id, registration_id, event, event_id, attempts, due_at)
    select ${company}, ${of}, 'e', 'w', ${attempts}, now() + ${dueInSeconds} * interval '1 s' from generate_series(1, ${count}::int)
    returning id
  `
  return rows.map(({ id }) => id)
}

const claim = async (on: Db = db, more: Partial<DeliveryClaim> = {}) =>
  (await claimDeliveries(on, { ...request, ...more })).jobs.map(({ id }) => id)

test('a due retry is claimed before first attempts that have waited for longer, and one that is not due is not', async () => {
  const first = await add(4, -3_600)
  const late = await add(1, -1, 4)
  const [soon, later] = [await add(1, -2, 1), await add(1, 60, 1)]
  expect(new Set(await claim())).toEqual(new Set([...late, ...soon, first[0]]))
  expect(new Set(await claim())).toEqual(new Set(first.slice(1)))
  const claimed = await claimDeliveries(db, request)
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
  const { jobs } = await claimDeliveries(db, { ...request, batches: 2 })
  const lanes = Map.groupBy(jobs, ({ lane }) => lane)
  expect(lanes.get(deliveryLaneOf(companyId, registrationId))).toHaveLength(3)
  expect(lanes.get(deliveryLaneOf(companyId, other))).toHaveLength(3)
})

const countByLane = (jobs: readonly Job[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(jobs, ({ lane }) => lane)].map(([lane, own]) => [lane, own.length]))

test('a lane that is not named as wide has so many jobs in flight, and takes another for each that ends', async () => {
  const { id: other } = await register(db, companyId)
  const [narrowLane, wideLane] = [deliveryLaneOf(companyId, registrationId), deliveryLaneOf(companyId, other)]
  await add(20, -1)
  await add(20, -1, 0, other)
  const wide = { lanes: new Set([wideLane]), batch: 5, batches: 3 }
  const claimed = async () =>
    (await claimDeliveries(db, { ...request, batches: 100, wide, narrow: { batch: 2, ofLane: 5, all: 100 } })).jobs
  const first = await claimed()
  expect(countByLane(first)).toEqual({ [narrowLane]: 5, [wideLane]: 15 })
  expect(await claimed()).toEqual([])
  const own = first.filter(({ lane }) => lane === narrowLane)
  expect(new Set(own.map(({ claimId }) => claimId)).size).toBe(3)
  await completeJobs(db, [own[0]!, own[2]!], DELIVERIES)
  expect(countByLane(await claimed())).toEqual({ [narrowLane]: 2 })
})

test('a lane whose room is named gives a claim no more jobs than that', async () => {
  const [free, paced, closed] = [1, 2, 3].map((id) => deliveryLaneOf(companyId, id)) as [string, string, string]
  for (const id of [1, 2, 3]) await add(5, -1, 0, id)
  const laneRooms = new Map([
    [paced, 2],
    [closed, 0],
  ])
  const narrow = { batch: 1, ofLane: 9, all: 100 }
  const { jobs } = await claimDeliveries(db, { ...request, batches: 500, narrow, laneRooms })
  expect(countByLane(jobs)).toEqual({ [free]: 5, [paced]: 2 })
})

test('lanes that are not wide share the jobs in flight: the companies alike, then the lanes of a company', async () => {
  const lanes = [[1, 1], ...[1, 2, 3, 4].map((id) => [2, id]), [3, 1], [3, 2]] as [number, number][]
  const claimed = async () =>
    (await claimDeliveries(db, { ...request, batches: 500, narrow: { batch: 1, ofLane: 9, all: 24 } })).jobs
  for (const [company, id] of lanes) await add(1, -1, 0, id, company)
  expect(await claimed()).toHaveLength(7)
  for (const [company, id] of lanes) await add(20, -1, 0, id, company)
  // With the job that each has in flight: 8 for each company, at most 9 for a lane.
  expect(countByLane(await claimed())).toEqual({
    '1.1': 7,
    ...{ '2.1': 1, '2.2': 1, '2.3': 1, '2.4': 1 },
    ...{ '3.1': 3, '3.2': 3 },
  })
  expect(await claimed()).toEqual([])
})

test('one claim leases deliveries of two companies with the same id, each under its own claim id', async () => {
  const other = await createCompany(db)
  const { id: otherRegistration } = await register(db, other)
  const ids = await add(3, -1)
  await db`
    insert into deliveries (company_id, id, day, registration_id, event, event_id, due_at)
    select ${other}, id, day, ${otherRegistration}, event, event_id, due_at
    from deliveries
    where company_id = ${companyId}
  `
  const { jobs } = await claimDeliveries(db, { ...request, batches: 2 })
  const key = ({ companyId, id, claimId }: Pick<Job, 'companyId' | 'id' | 'claimId'>) => `${companyId} ${id} ${claimId}`
  expect(countByLane(jobs)).toEqual({
    [deliveryLaneOf(companyId, registrationId)]: 3,
    [deliveryLaneOf(other, otherRegistration)]: 3,
  })
  expect(new Set(jobs.map(({ lane, claimId }) => `${lane} ${claimId}`)).size).toBe(2)
  const stored = await db<Job[]>`select company_id, id, claim_id from deliveries where id = any (${ids}::bigint[])`
  expect(stored.map(key).sort()).toEqual(jobs.map(key).sort())
})

test('a wide lane is claimed in whole batches, also when nothing of it is in flight', async () => {
  await add(30, -1)
  const wide = { lanes: new Set([deliveryLaneOf(companyId, registrationId)]), batch: 10, batches: 1 }
  const narrow = { batch: 2, ofLane: 2, all: 2 }
  for (let n = 0; n < 3; n += 1) {
    const { jobs } = await claimDeliveries(db, { ...request, batches: 50, wide, narrow })
    expect([jobs.length, new Set(jobs.map(({ claimId }) => claimId)).size]).toEqual([10, 1])
    await completeJobs(db, jobs, DELIVERIES)
  }
})

test('a claim reads some dozen rows of ten thousand due retries and ten thousand first attempts', async () => {
  const session = connect(url, { max: 1, pinPlans: true })
  onTestFinished(() => session.end())
  await session.begin((tx) => claimDeliveries(tx, request))
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
