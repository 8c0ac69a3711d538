/**
 * Fastify and BullMQ on a Redis with `appendonly yes`, `appendfsync always` and `noeviction`, so that an answered event is on
 * the disk as it is with PostgreSQL. The job is the stored event; message, conversation and log are rows of PostgreSQL.
 * Usage: node forward-bullmq.ts DATABASE_URL RECEIVER_URL REDIS_PORT
 *
 * Left out: the same as in forward-graphile-worker.ts.
 */
import { Queue, Worker } from 'bullmq'
import { Pool } from 'pg'
import { createTables, forward, IN_FLIGHT, MAX_ATTEMPTS, type ProviderEvent, serve, settings } from './forwarding.ts'

const QUEUE = 'forward'

const db = new Pool({ connectionString: settings.databaseUrl, max: 25 })
await createTables(db)
const connection = { host: '127.0.0.1', port: settings.redisPort, maxRetriesPerRequest: null }
const queue = new Queue<ProviderEvent>(QUEUE, {
  connection,
  defaultJobOptions: {
    attempts: MAX_ATTEMPTS,
    backoff: { type: 'exponential', delay: 1_000 },
    removeOnComplete: true,
  },
})
const worker = new Worker<ProviderEvent>(QUEUE, ({ data }) => forward(db, data), { connection, concurrency: IN_FLIGHT })
worker.on('error', console.error)
await worker.waitUntilReady()
await serve((event) => queue.add(QUEUE, event))
