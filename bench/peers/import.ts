/**
 * COPY of a CSV file into a temporary table, then one `insert … on conflict` into a table with the columns and indexes of
 * Parley's contacts, in one transaction. Usage: node import.ts DATABASE_URL; `POST /` takes the file and answers how many rows were written.
 *
 * Left out: checks of emails, phones and fields, notations of a phone, matches by phone, consent, duplicates within the file,
 * the errors of each row, progress and cancelling, going on after a crash, the share of other companies, the count of contacts.
 */
import { pipeline } from 'node:stream/promises'
import Fastify from 'fastify'
import { Pool } from 'pg'
import { from } from 'pg-copy-streams'

const [, , databaseUrl = ''] = process.argv
const db = new Pool({ connectionString: databaseUrl, max: 1 })
await db.query(`
  create schema if not exists peers;
  create table if not exists peers.contacts (like public.contacts including all)
`)

const STAGING =
  'create temporary table staging (email text, phone text, first_name text, last_name text, number text) on commit drop'
const INSERT = `
  insert into peers.contacts (
    company_id, email, email_key, phone, phone_identity, first_name, last_name, search_text, source, source_type,
    custom_fields
  )
  select
    1, email, lower(email), phone, ltrim(phone, '+'), first_name, last_name,
    lower(first_name || ' ' || last_name || E'\\n' || email || E'\\n' || phone), 'API', 'database',
    jsonb_build_object('number', number)
  from staging
  on conflict (company_id, coalesce(email_key, (chr(1114111) || lpad((id)::text, 16, '0'))) collate "C")
    where deleted_at is null
  do update set
    phone = excluded.phone, phone_identity = excluded.phone_identity, first_name = excluded.first_name,
    last_name = excluded.last_name, search_text = excluded.search_text, custom_fields = excluded.custom_fields,
    updated_at = now()
`

const app = Fastify({ bodyLimit: 1e9 })
app.addContentTypeParser('text/csv', (_request, payload, done) => done(null, payload))
app.post<{ Body: NodeJS.ReadableStream }>('/', async ({ body }) => {
  const client = await db.connect()
  try {
    await client.query('begin')
    await client.query(STAGING)
    await pipeline(body, client.query(from('copy staging from stdin (format csv, header)')))
    const { rowCount } = await client.query(INSERT)
    await client.query('commit')
    return { written: rowCount }
  } finally {
    client.release()
  }
})

console.log(JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) }))
process.on('SIGTERM', () => process.exit(0))
