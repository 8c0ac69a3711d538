/**
 * The common part of the three peers of forwarding, whatever their queue: they write the message and its conversation, sign and
 * post it, and log the attempt. A failed attempt is thrown, so that the queue tries again later.
 */
import { createHmac } from 'node:crypto'
import Fastify from 'fastify'
import type { Pool } from 'pg'
import { Pool as HttpPool } from 'undici'

const [, , databaseUrl = '', receiverUrl = '', redisPort = ''] = process.argv
/** The command line of each peer. */
export const settings = { databaseUrl, redisPort: Number(redisPort) }
/** As many attempts in flight as Parley makes at a receiver that answers quickly. */
export const IN_FLIGHT = 64
export const MAX_ATTEMPTS = 10

/** A webhook of the provider, as far as the peers read it. */
export type ProviderEvent = {
  entry: {
    changes: {
      value: {
        metadata: { phone_number_id: string }
        contacts: { profile: { name: string } }[]
        messages: { from: string; id: string; timestamp: string; type: string; text: { body: string } }[]
      }
    }[]
  }[]
}

const TABLES = `
  create schema if not exists peers;
  create table if not exists peers.conversations (
    id bigint generated always as identity primary key, number text not null, customer text not null,
    name text not null, last_text text not null, last_at timestamptz not null, unread int not null,
    messages int not null, unique (number, customer)
  );
  create table if not exists peers.messages (
    id bigint generated always as identity primary key,
    conversation_id bigint not null references peers.conversations, wamid text not null unique, text text not null,
    sent_at timestamptz not null
  );
  create table if not exists peers.attempts (
    id bigint generated always as identity primary key, wamid text not null, status_code int not null,
    milliseconds int not null, at timestamptz not null default now()
  )
`

const RECORD = `
  with conversation as (
    insert into peers.conversations (number, customer, name, last_text, last_at, unread, messages)
    select $1, $2, $3, $4, to_timestamp($5), 1, 1 where not exists (select from peers.messages where wamid = $6)
    on conflict (number, customer) do update
    set name = excluded.name, last_text = excluded.last_text, last_at = excluded.last_at,
      unread = conversations.unread + 1, messages = conversations.messages + 1
    returning id
  )
  insert into peers.messages (conversation_id, wamid, text, sent_at)
  select id, $6, $4, to_timestamp($5) from conversation
`

export const createTables = (db: Pool) => db.query(TABLES)

const receiver = new HttpPool(new URL(receiverUrl).origin, { connections: IN_FLIGHT })
let left = 0

/** The work of one job. A second try of it writes no second message. */
export async function forward(db: Pool, event: ProviderEvent): Promise<void> {
  for (const { changes } of event.entry) {
    for (const { value } of changes) {
      for (const message of value.messages) await forwardOne(db, value, message)
    }
  }
  left -= 1
}

type Value = ProviderEvent['entry'][number]['changes'][number]['value']

async function forwardOne(db: Pool, { metadata, contacts }: Value, message: Value['messages'][number]): Promise<void> {
  const number = metadata.phone_number_id
  const name = contacts[0]?.profile.name ?? ''
  const values = [number, message.from, name, message.text.body, Number(message.timestamp), message.id]
  await db.query({ name: 'record', text: RECORD, values })
  const body = JSON.stringify({
    version: '1',
    event: 'whatsapp.message.received',
    account: { phoneNumberId: number },
    contact: { phone: message.from, name },
    message: { wamid: message.id, type: message.type, text: message.text.body, timestamp: message.timestamp },
  })
  const startedAt = performance.now()
  const answer = await receiver.request({
    method: 'POST',
    path: '/peer',
    headers: {
      'content-type': 'application/json',
      'x-service-delivery': message.id,
      'x-service-signature': createHmac('sha256', 'a secret of the benchmark').update(body).digest('hex'),
    },
    body,
  })
  await answer.body.dump()
  await db.query({
    name: 'log',
    text: 'insert into peers.attempts (wamid, status_code, milliseconds) values ($1, $2, $3)',
    values: [message.id, answer.statusCode, Math.round(performance.now() - startedAt)],
  })
  if (answer.statusCode >= 300) throw new Error(`The receiver answered ${answer.statusCode}`)
}

/** Answers 200 once the queue has stored the event durably. `GET /left` says how many are not forwarded yet. */
export async function serve(store: (event: ProviderEvent) => Promise<unknown>): Promise<void> {
  const app = Fastify()
  app.post<{ Body: ProviderEvent }>('/', async ({ body }) => {
    left += 1
    await store(body)
    return { success: true }
  })
  app.get('/left', async () => left)
  console.log(JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) }))
  process.on('SIGTERM', () => process.exit(0))
}
