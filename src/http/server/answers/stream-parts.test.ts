import Fastify from 'fastify'
import { expect, test, vi } from 'vitest'
import { streamParts } from './stream-parts.ts'

test('an answer that fails in the middle breaks off, and is logged', async () => {
  const logged = vi.fn()
  const app = Fastify()
  app.addHook('onRequest', async (request) => {
    request.log.error = logged
  })
  async function* parts() {
    yield 'first\n'
    await new Promise((resolve) => setImmediate(resolve))
    throw new Error('the database is gone')
  }
  app.get('/', async (request, reply) => reply.type('text/plain').send(streamParts(request, parts())))
  const address = await app.listen({ port: 0 })
  const response = await fetch(address)
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow('terminated')
  expect(logged).toHaveBeenCalledWith(
    expect.objectContaining({ err: expect.objectContaining({ message: 'the database is gone' }) }),
    'request.broken_off',
  )
  await app.close()
})
