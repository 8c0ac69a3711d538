/**
 * Fastify and graphile-worker, with the settings of its page on performance: a local queue, and completions in batches.
 * The job is the stored event. Usage: node forward-graphile-worker.ts DATABASE_URL RECEIVER_URL
 *
 * Left out: companies and keys, the signature of the provider, statuses, reactions, media and all events but text messages,
 * contacts and who a customer is, lists of conversations, registrations and their filters, deadlines and dead letters, the order
 * of a conversation's messages, protection of one receiver from another, checks of addresses, the envelope's other fields.
 */
import { run } from 'graphile-worker'
import { Pool } from 'pg'
import { createTables, forward, IN_FLIGHT, MAX_ATTEMPTS, type ProviderEvent, serve, settings } from './forwarding.ts'

const db = new Pool({ connectionString: settings.databaseUrl, max: 25 })
await createTables(db)
await run({
  pgPool: db,
  noHandleSignals: true,
  preset: {
    worker: {
      concurrentJobs: IN_FLIGHT,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  },
  taskList: { forward: (event) => forward(db, event as ProviderEvent) },
})
await serve((event) =>
  db.query({
    name: 'add',
    text: `select from graphile_worker.add_job('forward', $1::json, max_attempts => $2)`,
    values: [JSON.stringify(event), MAX_ATTEMPTS],
  }),
)
