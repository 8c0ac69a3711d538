/**
 * Fastify and pg: a row with the idempotency key before the call of the provider, and its outcome afterwards; a request that
 * comes again is answered with the outcome of the first. Usage: node send.ts DATABASE_URL PROVIDER_URL PHONE_NUMBER_ID
 *
 * Left out: companies, keys and rate limits, templates and their checks, consent, the 24-hour window, throttle and daily
 * limit, contacts, customers and conversations, statuses, retries and what becomes of a row whose process was killed.
 */
import Fastify from 'fastify'
import { Pool } from 'pg'
import { Pool as HttpPool } from 'undici'

const [, , databaseUrl = '', providerUrl = '', numberId = ''] = process.argv
type Send = { recipient: string; template: { name: string; languageCode: string; components: { type: string }[] } }
type Row = { id: number; status: string; wamid: string | null }

const db = new Pool({ connectionString: databaseUrl, max: 25 })
await db.query(`
  create schema if not exists peers;
  create table if not exists peers.sends (
    id bigint generated always as identity primary key, idempotency_key text not null unique, recipient text not null,
    body jsonb not null, status text not null, wamid text, created_at timestamptz not null default now()
  )
`)
const provider = new HttpPool(providerUrl, { connections: 256 })
const app = Fastify()

app.post<{ Body: Send }>('/', async ({ body, headers }, reply) => {
  const key = String(headers['idempotency-key'])
  const inserted = await db.query<Row>({
    name: 'pending',
    text: `
      insert into peers.sends (idempotency_key, recipient, body, status) values ($1, $2, $3, 'pending')
      on conflict (idempotency_key) do nothing
      returning id
    `,
    values: [key, body.recipient, JSON.stringify(body)],
  })
  const id = inserted.rows[0]?.id
  if (id === undefined) return reply.code(409).send({ error: 'This key has been used' })
  const { statusCode, wamid } = await callProvider(body)
  const status = wamid === undefined ? 'failed' : 'sent'
  await db.query({
    name: 'outcome',
    text: 'update peers.sends set status = $2, wamid = $3 where id = $1',
    values: [id, status, wamid],
  })
  return wamid === undefined ? reply.code(502).send({ error: `The provider answered ${statusCode}` }) : { id, wamid }
})

async function callProvider({ recipient, template }: Send) {
  const components = template.components.map((component) => ({ ...component, type: component.type.toLowerCase() }))
  const answer = await provider.request({
    method: 'POST',
    path: `/v25.0/${numberId}/messages`,
    headers: { authorization: 'Bearer bench', 'content-type': 'application/json' },
    body: JSON.stringify({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: recipient,
      type: 'template',
      template: { name: template.name, language: { code: template.languageCode }, components },
    }),
  })
  const { messages } = (await answer.body.json()) as { messages?: { id: string }[] }
  return { statusCode: answer.statusCode, wamid: messages?.[0]?.id }
}

console.log(JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) }))
process.on('SIGTERM', () => process.exit(0))
