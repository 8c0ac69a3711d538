import { expect, onTestFinished, test } from 'vitest'
import { startCutProxy } from '../../test/cut-proxy.ts'
import { createWorkerFixture, gate, jobs } from '../../test/webhooks/worker-fixture.ts'
import { connect } from '../db/connect.ts'
import { retryUntilAvailable } from '../db/pool/failure.ts'
import { selfCompleted } from './job.ts'
import { completeJobs, enqueueJobs } from './job-store.ts'
import { createWorker } from './worker.ts'

const { db, url, log, allDone } = await createWorkerFixture()

test('an outcome that is known when the database goes away for longer than a lease is written, not made again', async () => {
  const way = await startCutProxy(url)
  const completedIds: number[] = []
  const isMade = gate()
  const startWorker = () => {
    const own = connect(way.url, { max: 3 })
    const worker = createWorker({ db: own, log }, [
      {
        kind: 'work',
        laneCap: 1,
        handle: async (job) => {
          completedIds.push(job.id)
          if (completedIds.length === 1) {
            way.become('refused')
            way.cut('rst')
          }
          isMade.open()
          await retryUntilAvailable(() => completeJobs(own, [job]))
          return selfCompleted
        },
      },
    ])
    onTestFinished(() => worker.stop().then(() => own.end({ timeout: 0 })))
  }
  startWorker()
  startWorker()
  await enqueueJobs(db, jobs(1))
  await isMade.opened
  await new Promise((done) => setTimeout(done, 3_000))
  await db`update jobs set lease_until = now() - interval '6 s' where lease_until is not null`
  way.become('open')
  await allDone()
  expect(completedIds, JSON.stringify(log.warn.mock.calls)).toHaveLength(1)
})
