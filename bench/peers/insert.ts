/**
 * Fastify and pg: `POST /` inserts the body by itself, and durably, before it answers: what any durable answer costs, where no
 * other peer does the same. Usage: node insert.ts DATABASE_URL
 *
 * Left out: everything else.
 */
import Fastify from 'fastify'
import { Pool } from 'pg'

const [, , databaseUrl = ''] = process.argv
const db = new Pool({ connectionString: databaseUrl, max: 25 })
// The database is restarted with the service; the pool then connects again.
db.on('error', () => {})
await db.query(`
  create schema if not exists peers;
  create table if not exists peers.bodies (id bigint generated always as identity primary key, body jsonb not null)
`)
const text = 'insert into peers.bodies (body) values ($1)'

const app = Fastify()
app.post('/', async ({ body }) => {
  await db.query({ name: 'insert', text, values: [JSON.stringify(body)] })
  return { success: true }
})

console.log(JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) }))
process.on('SIGTERM', () => process.exit(0))
