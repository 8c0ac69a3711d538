/**
 * What the service is compared with where no peer does the same: `node bench/baseline.ts DATABASE_URL`. A Fastify server that
 * inserts each body by itself, and durably, before it answers; `GET /:token` inserts the token and redirects.
 */
import Fastify from 'fastify'
import { connect } from '../src/db/connect.ts'

const db = connect(process.argv[2] ?? '', { applicationName: 'bench-insert' })
await db`create table if not exists bench_bodies (id bigint generated always as identity primary key, body jsonb)`
const insert = (body: unknown) => db`insert into bench_bodies (body) values (${db.json(body as never)})`

const app = Fastify()
app.post('/', async ({ body }) => {
  await insert(body)
  return { success: true }
})
app.get<{ Params: { token: string } }>('/:token', async ({ params }, reply) => {
  await insert(params)
  return reply.redirect('https://shop.example/', 302)
})

const url = await app.listen({ port: 0, host: '127.0.0.1' })
console.log(JSON.stringify({ url }))
process.on('SIGTERM', () => process.exit(0))
