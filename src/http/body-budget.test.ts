import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../test/api.ts'
import { createTestDatabase } from '../../test/database.ts'
import { eventually } from '../../test/service.ts'

const MIB = 1024 * 1024
let handled = 0
const { db } = await createTestDatabase()
const { app } = await createTestApi({
  db,
  routes: (app) => {
    const hook = { config: { surface: 'provider' }, bodyLimit: 4 * MIB } as const
    app.post('/hook', hook, async () => ({ ok: true }))
    const open = { config: { surface: 'public', waitsForOthers: true } } as const
    app.post('/never', open, () => new Promise(() => {}))
    app.post('/open', open, async () => {
      handled += 1
      return { ok: true }
    })
    app.post('/public/v1/contacts', { bodyLimit: 8 * MIB }, async () => ({ ok: true }))
  },
})
const address = await app.listen({ port: 0, host: '127.0.0.1' })
const [key, other] = [await createTestKey(db), await createTestKey(db)]
const sockets: Socket[] = []
afterEach(() => closeAll())
afterAll(() => app.close())

function closeAll(): void {
  for (const socket of sockets.splice(0)) socket.destroy()
}

type Opened = { socket: Socket; answer: () => string }

/** A request whose head has been sent, and of its body only the first byte. */
function open(path: string, ...headers: string[]): Promise<Opened> {
  const head = [`POST ${path} HTTP/1.1`, 'Host: a', 'Content-Type: application/json', ...headers, '', ''].join('\r\n')
  const socket = connect(Number(new URL(address).port), '127.0.0.1')
  sockets.push(socket)
  let answer = ''
  socket.on('data', (bytes) => {
    answer += bytes
  })
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.write(head, () => resolve({ socket, answer: () => answer }))
  })
}

const post = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${address}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{}',
  })

const refusedOf = (all: Opened[]) => all.filter(({ answer }) => answer().startsWith('HTTP/1.1 503 ')).length

async function openMany(count: number, path: string, ...headers: string[]): Promise<Opened[]> {
  const all: Opened[] = []
  for (let one = 0; one < count; one += 1) all.push(await open(path, ...headers))
  return all
}

test('the provider webhook holds 64 MiB of declared bodies; more are refused with 503 and Retry-After', async () => {
  const all = await openMany(150, '/hook', `Content-Length: ${4 * MIB}`)
  await eventually(async () => refusedOf(all) === 134)
  const refused = await post('/hook')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
  expect(await refused.json()).toMatchObject({ error: { code: 'service_unavailable' } })
  // Other surfaces go on.
  expect((await post('/public/v1/contacts', key.headers)).status).toBe(200)
  closeAll()
  await eventually(async () => (await post('/hook')).status === 200)
})

test('a body without a declared length counts as long as its route admits', async () => {
  const all = await openMany(20, '/hook', 'Transfer-Encoding: chunked')
  await eventually(async () => refusedOf(all) === 4)
})

test('a body that is answered no longer counts', async () => {
  for (let call = 0; call < 40; call += 1) {
    const reply = await fetch(`${address}/hook`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify('x'.repeat(3 * MIB)),
    })
    expect(reply.status).toBe(200)
  }
})

test('requests that waited behind another on a closed connection no longer count', async () => {
  const body = `"${'x'.repeat(MIB / 2 - 2)}"`
  const behind = `POST /open HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const { socket } = await open('/never', 'Content-Length: 2')
  const before = handled
  socket.write(`{}${behind.repeat(8)}`)
  await eventually(async () => handled === before + 8)
  socket.destroy()
  const all = await openMany(9, '/open', `Content-Length: ${MIB}`)
  await eventually(async () => refusedOf(all) === 1)
})

test('one company holds half of the budget of the API, so that another is served', async () => {
  const all = await openMany(
    6,
    '/public/v1/contacts',
    `Content-Length: ${8 * MIB}`,
    `Authorization: ${key.headers.authorization}`,
  )
  await eventually(async () => refusedOf(all) === 2)
  expect((await post('/public/v1/contacts', key.headers)).status).toBe(503)
  expect((await post('/public/v1/contacts', other.headers)).status).toBe(200)
})
