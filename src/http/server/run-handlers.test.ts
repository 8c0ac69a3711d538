import { AsyncLocalStorage } from 'node:async_hooks'
import Fastify from 'fastify'
import { afterAll, expect, test } from 'vitest'
import { collectGarbage } from '../../../test/schema/promoted.ts'
import { runHandlers } from './server.ts'

const app = Fastify()
app.decorateRequest('caller')
app.addHook('onRequest', (request, _reply, done) => {
  Object.assign(request, { caller: { companyId: 1 } })
  done()
})
runHandlers(
  app,
  () => undefined,
  async (_request, _reply, work) => work(),
)
afterAll(() => app.close())

test('a connection that was opened during a request keeps nothing of its body', async () => {
  // A connection keeps the asynchronous context in which it was opened, as a snapshot does.
  const contexts: unknown[] = []
  const bodies: WeakRef<object>[] = []
  app.post('/', async ({ body }) => {
    contexts.push(AsyncLocalStorage.snapshot())
    bodies.push(new WeakRef(body as object))
    return {}
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { 'content-type': 'application/json' }
  for (let n = 0; n < 3; n += 1) await (await fetch(url, { method: 'POST', headers, body: `{"n":${n}}` })).text()
  collectGarbage()
  // The last request is still held by its connection.
  expect([contexts.length, ...bodies.slice(0, 2).map((body) => body.deref())]).toEqual([3, undefined, undefined])
})
