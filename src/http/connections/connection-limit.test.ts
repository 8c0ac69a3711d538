import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { eventually } from '../../../test/service.ts'
import { addressBound, connectionBound, openFileLimit } from './connection-bounds.ts'

const BOUND = 10
const OF_ADDRESS = 4
const PROXY = '127.0.0.9'
const lines: Record<string, unknown>[] = []
const answers: PromiseWithResolvers<void>[] = []
/** Number of requests with a started body. */
let bodies = 0
const { db } = await createTestDatabase()
const key = await createTestKey(db)

async function listen(bounds: { maxConnections: number; maxOfAddress: number }) {
  const { app } = await createTestApi({
    db,
    bounds,
    config: { trustProxy: [PROXY] },
    onLog: (line) => lines.push(line),
    routes: (app) => {
      const config = { surface: 'public', waitsForOthers: true } as const
      const wait = async () => {
        const answer = Promise.withResolvers<void>()
        answers.push(answer)
        await answer.promise
        return 'ok'
      }
      app.get('/quick', { config }, async () => 'ok')
      app.get('/slow', { config }, wait)
      app.get('/public/v1/slow', { config: { waitsForOthers: true } }, wait)
      app.addHook('preParsing', async () => {
        bodies += 1
      })
      app.post('/hook', { config }, async () => 'ok')
    },
  })
  afterAll(() => app.close())
  return Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)
}
const port = await listen({ maxConnections: BOUND, maxOfAddress: 1_000 })
const ofAddresses = await listen({ maxConnections: BOUND, maxOfAddress: OF_ADDRESS })
const sockets: Socket[] = []
afterEach(async () => {
  for (const answer of answers.splice(0)) answer.resolve()
  await Promise.all(
    sockets
      .splice(0)
      .filter(({ destroyed }) => !destroyed)
      .map((socket) => new Promise((resolve) => socket.once('close', resolve).destroy())),
  )
})

type Client = Awaited<ReturnType<typeof open>>

async function open({ to = port, from = '127.0.0.1' } = {}) {
  const socket = connect({ port: to, host: '127.0.0.1', localAddress: from })
  sockets.push(socket)
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  const ask = (path: string, headers: Record<string, string> = {}) => {
    const fields = Object.entries({ host: 'a', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${path} HTTP/1.1\r\n${fields.join('')}\r\n`)
  }
  const count = (status = 200) => received.split(`HTTP/1.1 ${status} `).length - 1
  const answered = async (times: number, status = 200) =>
    eventually(async () => count(status) === times || socket.destroyed)
  return { socket, ask, answered, count }
}

/** Opens a client with an answered request. */
async function served(options: { to?: number; from?: string } = {}, times = 1): Promise<Client> {
  const client = await open(options)
  client.ask('/quick')
  await client.answered(1)
  expect(client.count()).toBe(times)
  return client
}

/** Opens a client with a pending request. */
async function waiting(path: string, headers: Record<string, string>, options = {}): Promise<Client> {
  const before = answers.length
  const client = await open(options)
  client.ask(path, headers)
  await eventually(async () => answers.length > before)
  return client
}

const openOf = (clients: readonly Client[]) => clients.filter(({ socket }) => !socket.destroyed).length

test('idle connections beyond the bound end, those without a request first, and say so once', async () => {
  const client = await served()
  const idle: Client[] = []
  for (let n = 0; n < 4 * BOUND; n += 1) idle.push(await open())
  await served()
  // A client that has been served keeps its connection.
  client.ask('/quick')
  await client.answered(2)
  expect(client.count()).toBe(2)
  await eventually(async () => openOf(idle) <= BOUND - 2)
  const warnings = lines.filter(({ msg }) => msg === 'http.connections.full')
  expect(warnings).toEqual([expect.objectContaining({ level: 40, maxConnections: BOUND })])
})

test('a connection that serves a proven request is not ended for another', async () => {
  const busy: Client[] = []
  for (let n = 0; n < BOUND; n += 1) busy.push(await waiting('/public/v1/slow', key.headers))
  const refused = await open()
  await eventually(async () => refused.socket.destroyed)
  for (const answer of answers) answer.resolve()
  for (const { answered } of busy) await answered(1)
  expect(busy.map(({ count }) => count())).toEqual(Array(BOUND).fill(1))
  await served()
})

test('the address that holds most loses its oldest connection, however busy it is with unproven requests', async () => {
  const healthy = await served({ from: '127.0.0.2' })
  const proven = await waiting('/public/v1/slow', key.headers, { from: '127.0.0.3' })
  const attackers: Client[] = []
  for (let n = 0; n < 4 * BOUND; n += 1) {
    const before = bodies
    const one = await open({ from: n % 2 === 0 ? '127.0.0.3' : '127.0.0.4' })
    one.socket.write('POST /hook HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n1')
    attackers.push(one)
    await eventually(async () => bodies > before)
  }
  await served({ from: '127.0.0.5' })
  await eventually(async () => openOf(attackers) <= BOUND - 3)
  expect(openOf(attackers.slice(-3))).toBe(3)
  healthy.ask('/quick')
  await healthy.answered(2)
  for (const answer of answers) answer.resolve()
  await proven.answered(1)
  expect([healthy.count(), proven.count()]).toEqual([2, 1])
})

test('an address holds a part of all connections, while others are free', async () => {
  const proven: Client[] = []
  for (let n = 0; n < OF_ADDRESS - 1; n += 1) {
    proven.push(await waiting('/public/v1/slow', key.headers, { to: ofAddresses, from: '127.0.0.2' }))
  }
  const idle: Client[] = []
  for (let n = 0; n < OF_ADDRESS; n += 1) idle.push(await served({ to: ofAddresses, from: '127.0.0.2' }))
  await eventually(async () => openOf(idle) === 1)
  expect([openOf(idle.slice(-1)), openOf(proven)]).toEqual([1, OF_ADDRESS - 1])
  await served({ to: ofAddresses, from: '127.0.0.3' })
})

test('behind a proxy, requests in flight count for their clients, and idle connections for nobody', async () => {
  const from = { to: ofAddresses, from: PROXY }
  const by = (client: string) => ({ 'x-forwarded-for': client, 'x-forwarded-proto': 'https' })
  const idle: Client[] = []
  for (let n = 0; n < OF_ADDRESS + 1; n += 1) idle.push(await served(from))
  const busy: Client[] = []
  for (let n = 0; n < OF_ADDRESS; n += 1) busy.push(await waiting('/slow', by('203.0.113.1'), from))
  idle[0]!.ask('/quick', by('203.0.113.1'))
  await idle[0]!.answered(1, 429)
  expect(idle[0]!.count(429)).toBe(1)
  idle[0]!.ask('/quick', by('203.0.113.2'))
  await idle[0]!.answered(2)
  for (const answer of answers.splice(0)) answer.resolve()
  for (const { answered } of busy) await answered(1)
  idle[0]!.ask('/quick', by('203.0.113.1'))
  await idle[0]!.answered(3)
  expect([idle[0]!.count(), openOf([...idle, ...busy])]).toEqual([3, 2 * OF_ADDRESS + 1])
})

test('the bound lies below the limit of open files', () => {
  expect([256, 1_024, 1_048_576, Number.POSITIVE_INFINITY].map(connectionBound)).toEqual([153, 614, 10_000, 10_000])
  expect([1, 153, 10_000].map(addressBound)).toEqual([1, 38, 2_500])
  expect(openFileLimit()).toBeGreaterThan(0)
})
