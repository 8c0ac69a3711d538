/**
 * The baselines of the service's figures: `node bench/baseline.ts bare` is a Fastify route that takes JSON and answers JSON,
 * and one that redirects; `node bench/baseline.ts insert DATABASE_URL` one that inserts each body by itself before it answers.
 */
import Fastify from 'fastify'
import { connect } from '../src/db/connect.ts'

const [, , kind, databaseUrl = ''] = process.argv
const app = Fastify()

if (kind === 'insert') {
  const db = connect(databaseUrl, { applicationName: 'bench-insert' })
  await db`create table if not exists bench_bodies (id bigint generated always as identity primary key, body jsonb)`
  app.post('/', async (request) => {
    await db`insert into bench_bodies (body) values (${db.json(request.body as never)})`
    return { success: true }
  })
} else {
  app.post('/', async () => ({ success: true }))
  app.get('/:token', async (_request, reply) => reply.redirect('https://shop.example/', 302))
}

const url = await app.listen({ port: 0, host: '127.0.0.1' })
console.log(JSON.stringify({ url }))
process.on('SIGTERM', () => process.exit(0))
