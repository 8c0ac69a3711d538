import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { onBehalfOf } from '../../../db/pool/fair-pool.ts'
import { unprefixedAddress } from '../request-head.ts'
import { compileSerializer, compressAnswers, serializeLongLists } from './answers.ts'

const Item = Type.Object({ id: Type.Integer(), text: Type.String() })
const Page = Type.Object({ total: Type.Integer(), data: Type.Array(Item), next: Type.String() })
const items = (count: number, length: number) =>
  Array.from({ length: count }, (_, id) => ({
    id,
    text: `${id % 2 ? 'é"data":[],' : ''}${'x'.repeat(length)}`,
    hidden: 'h',
  }))
const shown = (list: ReturnType<typeof items>) => list.map(({ id, text }) => ({ id, text }))

function serve(isBounded: boolean, list: ReturnType<typeof items>): FastifyInstance {
  const app = Fastify()
  app.setSerializerCompiler(compileSerializer)
  if (isBounded) serializeLongLists(app)
  const page = { total: list.length, data: list, next: '"data":[' }
  app.get('/page', { schema: { response: { 200: Page } } }, async () => page)
  app.get('/list', { schema: { response: { 200: Type.Array(Item) } } }, async () => list)
  return app
}

test.each([0, 1, 16, 17, 100, 1_000])('a list of %i items has the bytes that one piece has', async (count) => {
  for (const length of [0, 20, 60_000].filter((one) => one * count < 10_000_000)) {
    const list = items(count, length)
    for (const path of ['/page', '/list']) {
      const answer = await serve(true, list).inject(path)
      const whole = await serve(false, list).inject(path)
      expect(answer.rawPayload.equals(whole.rawPayload)).toBe(true)
      expect(answer.headers).toEqual({ ...whole.headers, date: answer.headers.date })
      const body = answer.json()
      expect(path === '/page' ? body.data : body).toEqual(shown(list))
    }
  }
})

test('other work runs while megabytes are serialized', async () => {
  const countTurns = async (isBounded: boolean) => {
    const answer = serve(isBounded, items(100, 64_000)).inject('/page')
    let turns = 0
    let isDone = false
    const counted = answer.then(() => (isDone = true))
    for (; !isDone; turns += 1) await setImmediate()
    await counted
    return turns
  }
  await countTurns(true)
  expect((await countTurns(true)) - (await countTurns(false))).toBeGreaterThan(30)
})

test('a list whose caller is gone is not serialized to its end, and gives its slot back', async () => {
  for (const companyId of [1, 2]) onBehalfOf({ companyId, isHeavy: false, isAwaited: () => true }, () => {})
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let serialized = 0
  const text = 'x'.repeat(64_000)
  const list = Array.from({ length: 1_000 }, (_, id) => ({
    id,
    get text() {
      serialized += 1
      return text
    },
  }))
  const app = Fastify()
  app.setSerializerCompiler(compileSerializer)
  serializeLongLists(app, () => {
    held.resolve()
    return released.resolve
  })
  app.get('/list', { schema: { response: { 200: Type.Array(Item) } } }, async () => list)
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
  await once(socket, 'connect')
  socket.write('GET /list HTTP/1.1\r\nHost: a\r\n\r\n')
  await held.promise
  socket.destroy()
  await released.promise
  await app.close()
  expect(serialized).toBeLessThan(list.length)
})

test('a long list is compressed for a page of the console', async () => {
  const app = Fastify({ rewriteUrl: (raw) => unprefixedAddress(raw, raw.url ?? '') })
  serializeLongLists(app)
  compressAnswers(app)
  const page = { data: items(100, 4_000) }
  app.get('/public/v1/list', async () => page)
  const answer = await app.inject({ url: '/console/api/public/v1/list', headers: { 'accept-encoding': 'gzip' } })
  expect(answer.headers['content-encoding']).toBe('gzip')
  expect(JSON.parse(gunzipSync(answer.rawPayload).toString())).toEqual(page)
})

test('a fault of a long list is answered as an error', async () => {
  const app = serve(true, [])
  app.get('/broken', { schema: { response: { 200: Type.Array(Item) } } }, async () => Array(20).fill({ id: 'none' }))
  expect((await app.inject('/broken')).statusCode).toBe(500)
})
