import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { createWorkerFixture, gate, keeping } from '../../test/webhooks/worker-fixture.ts'
import { currentRequest, onBehalfOf } from '../db/pool/fair-pool.ts'
import { type DirectDispatch, done, type Job } from './job.ts'

const { db, startWorker, allDone } = await createWorkerFixture()

/** Jobs as a caller enqueues them that are leased to a worker. */
async function enqueueFor(accepted: DirectDispatch, lane: string, count: number): Promise<Job[]> {
  const claimId = randomUUID()
  const rows = await db<Job[]>`
    insert into jobs (kind, lane, company_id, subject_id, claim_id, lease_until)
    select 'work', ${lane}, 7, n, ${claimId}, now() + ${accepted.leaseMs} * interval '1 ms'
    from generate_series(1, ${count}::int) as n
    returning id, kind, lane, company_id, subject_id, claim_id, due_at, attempts, created_at
  `
  return [...rows]
}

test('jobs that are enqueued as leased are started by the worker that they are leased to, and by none twice', async () => {
  const { handled, handle } = keeping()
  const worker = startWorker({ kind: 'work', laneCap: 5, handle })
  startWorker({ kind: 'work', laneCap: 5, handle })
  const accepted = worker.acceptDirect('work')!
  const put = await enqueueFor(accepted, 'a', 20)
  worker.dispatch(put, accepted)
  await allDone()
  expect(handled.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(put.map(({ id }) => id))
  expect(worker.acceptDirect('unknown')).toBeUndefined()
})

test('they are of lanes that have taken less than half of their room, and of all room', async () => {
  const work = gate()
  const handle = async (some: readonly Job[]) => {
    await work.opened
    return some.map(() => done)
  }
  const lanes = { claim: () => expect.fail('claims'), roomOf: () => 40 }
  const worker = startWorker({ kind: 'work', batch: 10, lanes, laneCap: 4, concurrency: 10, handle })
  const add = async (lane: string, jobs: number) => {
    const accepted = worker.acceptDirect('work')!
    worker.dispatch(await enqueueFor(accepted, lane, jobs), accepted)
  }
  expect(worker.acceptDirect('work')).toMatchObject({ fullLanes: [] })
  await add('a', 1)
  await add('a', 18)
  // Two batches of four, but 19 jobs of 40.
  expect(worker.acceptDirect('work')).toMatchObject({ fullLanes: [] })
  await add('a', 1)
  expect(worker.acceptDirect('work')).toMatchObject({ fullLanes: ['a'] })
  await add('b', 10)
  expect(worker.acceptDirect('work')).toMatchObject({ fullLanes: ['a'] })
  await add('c', 1)
  expect(worker.acceptDirect('work')).toBeUndefined()
  work.open()
  await allDone()
})

test('they run on behalf of no request, though one dispatches them', async () => {
  const requests: unknown[] = []
  const handle = async () => {
    requests.push(currentRequest())
    return done
  }
  const worker = startWorker({ kind: 'work', laneCap: 5, handle })
  const accepted = worker.acceptDirect('work')!
  const put = await enqueueFor(accepted, 'a', 1)
  const request = { companyId: 7, isHeavy: false, isAwaited: () => true }
  onBehalfOf(request, () => worker.dispatch(put, accepted))
  await allDone()
  expect(requests).toEqual([undefined])
})

test('they are left to their lease when they come too late, and to others when the worker stops', async () => {
  const { handled, handle } = keeping()
  const worker = startWorker({ kind: 'work', laneCap: 5, handle })
  const accepted = worker.acceptDirect('work')!
  worker.dispatch(await enqueueFor(accepted, 'a', 1), { ...accepted, madeAtMs: accepted.madeAtMs - 10_000 })
  const late = await enqueueFor(accepted, 'b', 1)
  await worker.stop()
  expect(worker.acceptDirect('work')).toBeUndefined()
  worker.dispatch(late, accepted)
  await vi.waitFor(async () => expect(await db`select from jobs where claim_id is null`).toHaveLength(1), 90_000)
  expect(handled).toEqual([])
  await db`update jobs set lease_until = now() - interval '1 s' where claim_id is not null`
  startWorker({ kind: 'work', laneCap: 5, handle })
  await allDone()
  expect(handled.map(({ lane }) => lane).sort()).toEqual(['a', 'b'])
})
