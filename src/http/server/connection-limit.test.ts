import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, expect, test } from 'vitest'
import { createTestApi } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { eventually } from '../../../test/service.ts'
import { connectionBound, openFileLimit } from './connection-limit.ts'

const BOUND = 10
const lines: Record<string, unknown>[] = []
const answers: PromiseWithResolvers<void>[] = []
const { db } = await createTestDatabase()
const { app } = await createTestApi({
  db,
  maxConnections: BOUND,
  onLog: (line) => lines.push(line),
  routes: (app) => {
    const config = { surface: 'public', waitsForOthers: true } as const
    app.get('/quick', { config }, async () => 'ok')
    app.get('/slow', { config }, async () => {
      const answer = Promise.withResolvers<void>()
      answers.push(answer)
      await answer.promise
      return 'ok'
    })
  },
})
const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)
const sockets: Socket[] = []
afterEach(() => {
  for (const answer of answers.splice(0)) answer.resolve()
  for (const socket of sockets.splice(0)) socket.destroy()
})
afterAll(() => app.close())

async function open() {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  const ask = (path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
  const answered = async (times: number) =>
    eventually(async () => received.split('HTTP/1.1 200 ').length - 1 === times || socket.destroyed)
  return { socket, ask, answered, count: () => received.split('HTTP/1.1 200 ').length - 1 }
}

test('idle connections beyond the bound end, those without a request first, and say so once', async () => {
  const client = await open()
  client.ask('/quick')
  await client.answered(1)
  const idle: Awaited<ReturnType<typeof open>>[] = []
  for (let n = 0; n < 4 * BOUND; n += 1) idle.push(await open())
  const newcomer = await open()
  newcomer.ask('/quick')
  await newcomer.answered(1)
  // A client that has been served keeps its connection.
  client.ask('/quick')
  await client.answered(2)
  expect([newcomer.count(), client.count()]).toEqual([1, 2])
  await eventually(async () => idle.filter(({ socket }) => !socket.destroyed).length <= BOUND - 2)
  const warnings = lines.filter(({ msg }) => msg === 'http.connections.full')
  expect(warnings).toEqual([expect.objectContaining({ level: 40, maxConnections: BOUND })])
})

test('a connection with a request in progress is not ended for another', async () => {
  const busy = []
  for (let n = 0; n < BOUND; n += 1) {
    const one = await open()
    one.ask('/slow')
    await eventually(async () => answers.length === n + 1)
    busy.push(one)
  }
  const refused = await open()
  await eventually(async () => refused.socket.destroyed)
  for (const answer of answers) answer.resolve()
  for (const { answered } of busy) await answered(1)
  expect(busy.map(({ count }) => count())).toEqual(Array(BOUND).fill(1))
  const next = await open()
  next.ask('/quick')
  await next.answered(1)
  expect(next.count()).toBe(1)
})

test('the bound lies below the limit of open files', () => {
  expect([256, 1_024, 1_048_576, Number.POSITIVE_INFINITY].map(connectionBound)).toEqual([153, 614, 10_000, 10_000])
  expect(openFileLimit()).toBeGreaterThan(0)
})
