import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { eventually } from '../../../test/service.ts'
import { createFairPace, type Turn } from '../../fair/fair-pace.ts'
import { createBodyPaces, TURN_BYTES } from './body-budget.ts'

const MIB = 1024 * 1024
const KIB = 1024
const { db } = await createTestDatabase()
/** Two turns for all unproven bodies together, and for each address that has proven a body. */
const paces = createBodyPaces({ perSecond: 0, burst: 2 * TURN_BYTES }, { perSecond: MIB, burst: 8 * MIB })
let arrived = 0
const { app } = await createTestApi({
  db,
  paces,
  routes: (app) => {
    app.addHook('preParsing', (_request, _reply, payload, done) => {
      payload.on('data', (chunk) => {
        arrived += chunk.length
      })
      done(null, payload)
    })
    const hook = { config: { surface: 'provider' }, bodyLimit: 4 * MIB } as const
    app.post('/hook', hook, async () => ({ ok: true }))
    app.post('/prove', hook, async (request) => {
      request.isProven = true
      return { ok: true }
    })
    app.post('/public/v1/contacts', { bodyLimit: 8 * MIB }, async () => ({ ok: true }))
  },
})
const address = await app.listen({ port: 0, host: '127.0.0.1' })
const key = await createTestKey(db)
const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})
afterAll(() => {
  // The service does not read bodies that wait for a turn, so it does not see that their clients are gone.
  app.server.closeAllConnections()
  return app.close()
})

/** A request of which these bytes of the body are sent. */
function send(length: number, bytes: number, from: { path?: string; headers?: string[]; localAddress?: string } = {}) {
  const { path = '/hook', headers = [], localAddress = '127.0.0.1' } = from
  const head = [`POST ${path} HTTP/1.1`, 'Host: a', 'Content-Type: application/json', `Content-Length: ${length}`]
  const socket = connect({ port: Number(new URL(address).port), host: '127.0.0.1', localAddress })
  sockets.push(socket)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.on('error', () => {})
  socket.write([...head, ...headers, '', ''].join('\r\n'))
  socket.write(`"${' '.repeat(bytes - 2)}"`)
  return { status: () => answer.slice(9, 12) }
}

const isAnswered = async ({ status }: { status: () => string }) => {
  await eventually(async () => status() !== '')
  return status()
}

test('beyond 64 KiB, unproven bodies share one rate; others and small ones do not wait for them', async () => {
  const large = send(MIB, MIB)
  await eventually(async () => arrived >= 3 * TURN_BYTES)
  const second = send(MIB, MIB, { localAddress: '127.0.0.2' })
  expect(await isAnswered(send(60 * KIB, 60 * KIB))).toBe('200')
  const contacts = { path: '/public/v1/contacts', headers: [`Authorization: ${key.headers.authorization}`] }
  expect(await isAnswered(send(4 * MIB, 4 * MIB, contacts))).toBe('200')
  expect(await isAnswered(send(2, 2, { path: '/prove', localAddress: '127.0.0.3' }))).toBe('200')
  expect(await isAnswered(send(3 * TURN_BYTES, 3 * TURN_BYTES, { localAddress: '127.0.0.3' }))).toBe('200')
  expect([large.status(), second.status()]).toEqual(['', ''])
})

test('a body that waits for its turn is not ended as one that arrives slowly', async () => {
  const waiting = send(MIB, MIB)
  const idle = send(MIB, 10)
  await eventually(async () => idle.status() !== '', 20_000)
  expect(idle.status()).toBe('408')
  expect(waiting.status()).toBe('')
})

test('a rate is shared by clients in rotation, and by the bodies of each', async () => {
  let nowMs = 0
  const pace = createFairPace<string>({ perSecond: TURN_BYTES * 1_000, burst: TURN_BYTES }, () => nowMs)
  const turns: string[] = []
  const bodyOf = (name: string): Turn<string> => {
    const body = {
      owner: name.slice(0, 1),
      cost: TURN_BYTES,
      onTurn: () => {
        turns.push(name)
        pace.take(body)
      },
    }
    return body
  }
  const [first, second, third, other] = ['a1', 'a2', 'a3', 'b1'].map(bodyOf)
  expect([pace.take(first!), pace.take(first!)]).toEqual([true, false])
  for (const body of [second!, third!, other!]) expect(pace.take(body)).toBe(false)
  pace.leave(third!)
  for (let turn = 1; turn <= 6; turn += 1) {
    nowMs += 1
    await expect.poll(() => turns.length).toBe(turn)
  }
  expect(turns).toEqual(['a1', 'b1', 'a2', 'b1', 'a1', 'b1'])
  for (const body of [first!, second!, other!]) pace.leave(body)
})
