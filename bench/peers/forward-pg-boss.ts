/**
 * Fastify and pg-boss: workers that are woken by LISTEN/NOTIFY, fetch batches, go on at once after a full one, and complete
 * each job by itself. The job is the stored event. Usage: node forward-pg-boss.ts DATABASE_URL RECEIVER_URL
 *
 * Left out: the same as in forward-graphile-worker.ts.
 */
import { Pool } from 'pg'
import { type JobResult, PgBoss } from 'pg-boss'
import { createTables, forward, IN_FLIGHT, MAX_ATTEMPTS, type ProviderEvent, serve, settings } from './forwarding.ts'

const QUEUE = 'forward'
const WORKERS = 4

const db = new Pool({ connectionString: settings.databaseUrl, max: 15 })
await createTables(db)
const boss = new PgBoss({ connectionString: settings.databaseUrl, max: 10, useListenNotify: true })
boss.on('error', console.error)
await boss.start()
await boss.createQueue(QUEUE, { notify: true, retryLimit: MAX_ATTEMPTS, retryBackoff: true, retryDelay: 1 })
await boss.work<ProviderEvent>(
  QUEUE,
  {
    batchSize: IN_FLIGHT / WORKERS,
    localConcurrency: WORKERS,
    perJobResults: true,
    burstWhenBatchFull: true,
  },
  (jobs) =>
    Promise.all(
      jobs.map(
        ({ id, data }): Promise<JobResult> =>
          forward(db, data).then(
            () => ({ id, status: 'completed' }),
            (error: Error) => ({ id, status: 'failed', output: { message: error.message } }),
          ),
      ),
    ),
)
await serve((event) => boss.send(QUEUE, event))
