import { expect, test } from 'vitest'
import { job, jobs, request, startJobs, subjects } from '../../test/job-world.ts'
import { claimJobs } from './claim/claim-store.ts'
import {
  completeJobs,
  enqueueJobs,
  listFailedJobs,
  recoverJobs,
  releaseJobs,
  renewJobs,
  rescheduleJobs,
} from './job-store.ts'

const { db, claim, expire } = await startJobs()

test('within a lane the job that is due first comes first', async () => {
  const due = [30, 10, 20].map((ago, i) => job(i, { dueAt: new Date(Date.now() - ago * 1000) }))
  await enqueueJobs(db, due)
  expect(subjects(await claim())).toEqual([0, 2, 1])
})

test('a lane never has more in flight than its cap, and what is finished makes room', async () => {
  await enqueueJobs(db, jobs(10))
  const first = await claim({ laneCap: 3 })
  expect(first).toHaveLength(3)
  expect(await claim({ laneCap: 3 })).toEqual([])
  await completeJobs(db, first.slice(0, 2))
  expect(await claim({ laneCap: 3 })).toHaveLength(2)
})

test('a company never has more in flight than its cap over all its lanes', async () => {
  for (const lane of ['a', 'b', 'c']) await enqueueJobs(db, jobs(10, { lane, companyId: 1 }))
  await enqueueJobs(db, jobs(10, { lane: 'd', companyId: 2 }))
  await enqueueJobs(db, jobs(10, { lane: 'e' }))
  const claimed = await claimJobs(db, { ...request, companyCap: 5 })
  const count = (companyId: number | undefined) => claimed.jobs.filter((one) => one.companyId === companyId).length
  expect([count(1), count(2), count(undefined)]).toEqual([5, 5, 10])
  expect(claimed.sawFull).toBe(true)
  expect(await claim({ companyCap: 5 })).toEqual([])
})

test('each lane is claimed once before any lane is claimed twice', async () => {
  await enqueueJobs(db, jobs(50, { lane: 'big' }))
  for (const lane of ['a', 'm', 'z']) await enqueueJobs(db, jobs(2, { lane }))
  const lanes = (await claim({ batches: 8 })).map(({ lane }) => lane).sort()
  expect(lanes).toEqual(['a', 'a', 'big', 'big', 'm', 'm', 'z', 'z'])
})

test('a claim goes on with the lane after the last one served', async () => {
  for (const lane of ['a', 'b', 'c', 'd', 'e']) await enqueueJobs(db, jobs(4, { lane }))
  const order: string[] = []
  let afterLane = ''
  for (let i = 0; i < 5; i++) {
    const claimed = await claimJobs(db, { ...request, batches: 2, afterLane })
    order.push(...claimed.jobs.map(({ lane }) => lane).sort())
    afterLane = claimed.lastLane
  }
  expect(order).toEqual(['a', 'b', 'c', 'd', 'a', 'e', 'b', 'c', 'd', 'e'])
})

test('more lanes than one walk looks at are all served by the next ones', async () => {
  const lanes = Array.from({ length: 1_200 }, (_, i) => `lane-${String(i).padStart(4, '0')}`)
  await enqueueJobs(
    db,
    lanes.map((lane, i) => job(i, { lane, ...(i < 1_195 && { dueInMs: 3_600_000 }) })),
  )
  const found: string[] = []
  let afterLane = ''
  for (let i = 0; i < 3; i++) {
    const claimed = await claimJobs(db, { ...request, afterLane })
    if (i === 0) expect(claimed).toMatchObject({ jobs: [], sawAll: false })
    afterLane = claimed.lastLane
    found.push(...claimed.jobs.map(({ lane }) => lane))
  }
  expect(found.sort()).toEqual(['lane-1195', 'lane-1196', 'lane-1197', 'lane-1198', 'lane-1199'])
})

test('a batch is the next jobs of one lane in order, and a cap of 1 allows one batch at a time', async () => {
  await enqueueJobs(db, jobs(25))
  await enqueueJobs(db, jobs(3, { lane: 'b' }))
  const batches = { batchSize: 10, laneCap: 1, batches: 5 }
  const first = await claim(batches)
  const ofLane = (lane: string) => first.filter((one) => one.lane === lane)
  expect(subjects(ofLane('a'))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect(new Set(ofLane('a').map(({ claimId }) => claimId)).size).toBe(1)
  expect(subjects(ofLane('b'))).toEqual([1, 2, 3])
  expect(await claim(batches)).toEqual([])
  await completeJobs(db, ofLane('a').slice(0, 9))
  expect(await claim(batches)).toEqual([])
  await completeJobs(db, ofLane('a'))
  expect(subjects(await claim(batches))).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
})

test('many claims at once never share a job nor exceed a cap', async () => {
  for (let lane = 0; lane < 20; lane++) await enqueueJobs(db, jobs(20, { lane: `l${lane}`, companyId: lane % 4 }))
  const claims = await Promise.all(Array.from({ length: 10 }, () => claim({ laneCap: 3, companyCap: 11 })))
  const all = claims.flat()
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
  for (let company = 0; company < 4; company++) {
    expect(all.filter(({ companyId }) => companyId === company)).toHaveLength(11)
  }
  const byLane = Map.groupBy(all, ({ lane }) => lane)
  expect(Math.max(...[...byLane.values()].map(({ length }) => length))).toBeLessThanOrEqual(3)
})

test('a lease that ran out makes the job due again, and its old claim worthless', async () => {
  await enqueueJobs(db, jobs(1))
  const old = await claim()
  expect(await recoverJobs(db, ['work'], 10)).toBe(0)
  await expire()
  expect(await recoverJobs(db, ['work'], 10)).toBe(1)
  const next = await claim()
  expect(next).toHaveLength(1)
  expect(await completeJobs(db, old)).toEqual(new Set())
  expect(await rescheduleJobs(db, [{ ...old[0]!, afterMs: 0, counts: true }])).toEqual(new Set())
  await releaseJobs(db, old)
  expect(await renewJobs(db, old, 15_000)).toEqual(new Set([old[0]!.claimId]))
  expect(await completeJobs(db, next)).toEqual(new Set([next[0]!.id]))
  expect(await db`select from jobs`).toHaveLength(0)
})

test('a job that outlives its workers too often fails', async () => {
  await enqueueJobs(db, jobs(1))
  for (let i = 0; i < 3; i++) {
    expect(await claim()).toHaveLength(1)
    await expire()
    await recoverJobs(db, ['work'], 3)
  }
  expect(await claim()).toEqual([])
  expect(await listFailedJobs(db, 10)).toMatchObject([{ subjectId: 1, lastError: 'The lease expired 3 times' }])
})

test('renewal keeps a lease from running out', async () => {
  await enqueueJobs(db, jobs(2))
  const held = await claim({ leaseMs: 0 })
  expect(await renewJobs(db, held, 15_000)).toEqual(new Set())
  expect(await recoverJobs(db, ['work'], 10)).toBe(0)
})

test('a job that its handler is finishing is neither renewed nor recovered nor waited for', async () => {
  await enqueueJobs(db, jobs(1))
  const held = await claim({ leaseMs: 0 })
  await db.begin(async (tx) => {
    expect(await completeJobs(tx, held)).toEqual(new Set([held[0]!.id]))
    expect(await renewJobs(db, held, 15_000)).toEqual(new Set())
    expect(await recoverJobs(db, ['work'], 10)).toBe(0)
  })
  expect(await db`select from jobs`).toHaveLength(0)
})
