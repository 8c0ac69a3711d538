import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { createWorkerFixture, gate, keeping } from '../../test/worker-fixture.ts'
import { done, type Job, type Offer } from './job.ts'

const { db, startWorker, allDone } = await createWorkerFixture()

/** As whoever puts jobs up writes them when a worker has offered to take them over. */
async function putUpFor(offer: Offer, lane: string, count: number): Promise<Job[]> {
  const claimId = randomUUID()
  const rows = await db<Job[]>`
    insert into jobs (kind, lane, company_id, subject_id, claim_id, lease_until)
    select 'work', ${lane}, 7, n, ${claimId}, now() + ${offer.leaseMs} * interval '1 ms'
    from generate_series(1, ${count}::int) as n
    returning id, kind, lane, company_id, subject_id, claim_id, due_at, attempts, created_at
  `
  return [...rows]
}

test('jobs that are put up as leased are begun by the worker that offered to, and by none twice', async () => {
  const { handled, handle } = keeping()
  const worker = startWorker({ kind: 'work', laneCap: 5, handle })
  startWorker({ kind: 'work', laneCap: 5, handle })
  const offer = worker.offer('work')!
  const put = await putUpFor(offer, 'a', 20)
  worker.takeOver(put, offer)
  await allDone()
  expect(handled.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(put.map(({ id }) => id))
  expect(worker.offer('unknown')).toBeUndefined()
})

test('they are of lanes and companies that have taken less than half of their room, and of all room', async () => {
  const work = gate()
  const handle = async () => {
    await work.opened
    return done
  }
  const worker = startWorker({ kind: 'work', batch: 10, laneCap: 4, companyCap: 6, concurrency: 8, handle })
  const add = async (lane: string) => {
    const offer = worker.offer('work')!
    worker.takeOver(await putUpFor(offer, lane, 3), offer)
  }
  expect(worker.offer('work')).toMatchObject({ fullLanes: [], fullCompanies: [] })
  await add('a')
  await add('a')
  expect(worker.offer('work')).toMatchObject({ fullLanes: ['a'], fullCompanies: [] })
  await add('b')
  expect(worker.offer('work')).toMatchObject({ fullLanes: ['a'], fullCompanies: [7] })
  await add('b')
  expect(worker.offer('work')).toBeUndefined()
  work.open()
  await allDone()
})

test('they are left to their lease when they come too late, and to others when the worker stops', async () => {
  const { handled, handle } = keeping()
  const worker = startWorker({ kind: 'work', laneCap: 5, handle })
  const offer = worker.offer('work')!
  worker.takeOver(await putUpFor(offer, 'a', 1), { ...offer, madeAtMs: offer.madeAtMs - 10_000 })
  const late = await putUpFor(offer, 'b', 1)
  await worker.stop()
  expect(worker.offer('work')).toBeUndefined()
  worker.takeOver(late, offer)
  await vi.waitFor(async () => expect(await db`select from jobs where claim_id is null`).toHaveLength(1))
  expect(handled).toEqual([])
  await db`update jobs set lease_until = now() - interval '1 s' where claim_id is not null`
  startWorker({ kind: 'work', laneCap: 5, handle })
  await allDone()
  expect(handled.map(({ lane }) => lane).sort()).toEqual(['a', 'b'])
})
