/**
 * Fastify, pg-boss and nodemailer: a row for each mail and its job in one transaction, sent over pooled connections; then the
 * row says how it ended. Usage: node mail.ts DATABASE_URL SMTP_URL CONNECTIONS
 *
 * Left out: companies, keys and limits, templates, tracked opens and clicks, the text part made from the HTML, bounces and
 * suppressed addresses, the List-Unsubscribe header, statistics, attachments.
 */
import Fastify from 'fastify'
import { createTransport } from 'nodemailer'
import { Pool, type PoolClient } from 'pg'
import { type JobResult, PgBoss } from 'pg-boss'

const [, , databaseUrl = '', smtpUrl = '', connections = ''] = process.argv
const QUEUE = 'mail'
type Mail = { to: string; subject: string; html: string }

const db = new Pool({ connectionString: databaseUrl, max: 15 })
await db.query(`
  create schema if not exists peers;
  create table if not exists peers.mails (
    id bigint generated always as identity primary key, recipient text not null, subject text not null, html text not null,
    status text not null, message_id text, created_at timestamptz not null default now()
  )
`)
const maxConnections = Number(connections)
const transport = createTransport({ url: smtpUrl, pool: true, maxConnections, maxMessages: 1_000 })
const boss = new PgBoss({ connectionString: databaseUrl, max: 10, useListenNotify: true })
boss.on('error', console.error)
await boss.start()
await boss.createQueue(QUEUE, { notify: true, retryLimit: 10, retryBackoff: true, retryDelay: 1 })
let left = 0
await boss.work<{ id: string }>(
  QUEUE,
  { batchSize: maxConnections, localConcurrency: 2, perJobResults: true, burstWhenBatchFull: true },
  (jobs) =>
    Promise.all(
      jobs.map(
        ({ id, data }): Promise<JobResult> =>
          send(data.id).then(
            () => ({ id, status: 'completed' }),
            (error: Error) => ({ id, status: 'failed', output: { message: error.message } }),
          ),
      ),
    ),
)

async function send(id: string): Promise<void> {
  const text = 'select recipient, subject, html from peers.mails where id = $1'
  const { rows } = await db.query<{ recipient: string; subject: string; html: string }>({
    name: 'mail',
    text,
    values: [id],
  })
  for (const { recipient, subject, html } of rows) {
    const { messageId } = await transport.sendMail({ from: 'Shop <shop@example.org>', to: recipient, subject, html })
    const update = `update peers.mails set status = 'sent', message_id = $2 where id = $1`
    await db.query({ name: 'sent', text: update, values: [id, messageId] })
  }
  left -= 1
}

const app = Fastify()
app.post<{ Body: Mail }>('/', async ({ body }, reply) => {
  left += 1
  const client = await db.connect()
  try {
    return reply.code(201).send({ id: await store(client, body) })
  } finally {
    client.release()
  }
})
app.get('/left', async () => left)

async function store(client: PoolClient, { to, subject, html }: Mail): Promise<string> {
  await client.query('begin')
  const text = `insert into peers.mails (recipient, subject, html, status) values ($1, $2, $3, 'pending') returning id`
  const { rows } = await client.query<{ id: string }>({ name: 'insert', text, values: [to, subject, html] })
  const id = rows[0]?.id ?? ''
  await boss.send(QUEUE, { id }, { db: { executeSql: (sql, values) => client.query(sql, values) } })
  await client.query('commit')
  return id
}

console.log(JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) }))
process.on('SIGTERM', () => process.exit(0))
