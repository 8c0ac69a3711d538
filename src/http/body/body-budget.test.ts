import { connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { eventually } from '../../../test/service.ts'
import { createBodyPaces } from './body-budget.ts'

const MIB = 1024 * 1024
let handled = 0
let arrived = 0
const { db } = await createTestDatabase()
const unbounded = { perSecond: 1024 * MIB, burst: 1024 * MIB }
const routes = (app: FastifyInstance) => {
  app.addHook('preParsing', (_request, _reply, payload, done) => {
    payload.on('data', (chunk) => {
      arrived += chunk.length
    })
    done(null, payload)
  })
  const hook = { config: { surface: 'provider' }, bodyLimit: 4 * MIB } as const
  app.post('/hook', hook, async () => ({ ok: true }))
  const open = { config: { surface: 'public', waitsForOthers: true } } as const
  app.post('/never', open, () => new Promise(() => {}))
  app.post('/open', open, async () => {
    handled += 1
    return { ok: true }
  })
  app.post('/public/v1/contacts', { bodyLimit: 8 * MIB }, async () => ({ ok: true }))
}
const paces = createBodyPaces(unbounded, unbounded)
/** Ends no body for its pace: a slow machine takes long to open them all. */
const { app } = await createTestApi({ db, paces, routes, bounds: { bodies: { windowSeconds: 3_600 } } })
const address = await app.listen({ port: 0, host: '127.0.0.1' })
const timed = await createTestApi({ db, paces, routes })
const timedAddress = await timed.app.listen({ port: 0, host: '127.0.0.1' })
const key = await createTestKey(db)
const browserKey = await createTestKey(db, { companyId: key.companyId })
const other = await createTestKey(db)
const sockets: Socket[] = []
afterEach(() => closeAll())
afterAll(() => Promise.all([app.close(), timed.app.close()]))

function closeAll(): void {
  for (const socket of sockets.splice(0)) socket.destroy()
}

type Opened = { socket: Socket; answer: () => string }
type From = { path?: string; headers?: string[]; localAddress?: string; to?: string }

/** Sends a request head and the first body bytes. */
async function open(bytes: number, from: From = {}): Promise<Opened> {
  const before = arrived
  const opened = await send(bytes, from)
  await eventually(async () => arrived >= before + bytes || opened.answer() !== '')
  return opened
}

function send(
  bytes: number,
  { path = '/hook', headers = [], localAddress = '127.0.0.1', to = address }: From = {},
): Promise<Opened> {
  const length = headers.some((one) => one.startsWith('Transfer')) ? [] : [`Content-Length: ${4 * MIB}`]
  const head = [`POST ${path} HTTP/1.1`, 'Host: a', 'Content-Type: application/json', ...length, ...headers, '', '']
  const socket = connect({ port: Number(new URL(to).port), host: '127.0.0.1', localAddress })
  sockets.push(socket)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  // A refused body is cut off while it is sent.
  socket.on('error', () => {})
  return new Promise((resolve) => {
    socket.write(head.join('\r\n'))
    socket.write(Buffer.alloc(bytes, ' '), () => resolve({ socket, answer: () => answer }))
  })
}

async function openMany(count: number, bytes: number, from: From = {}): Promise<Opened[]> {
  const all: Opened[] = []
  for (let one = 0; one < count; one += 1) all.push(await open(bytes, from))
  return all
}

const post = (path = '/hook', headers: Record<string, string> = {}) =>
  fetch(`${address}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{}',
  })
const statusesOf = (all: Opened[]) => all.map(({ answer }) => answer().slice(9, 12))
const isRefused = ({ answer }: Opened) => answer().startsWith('HTTP/1.1 503 ')
const authorized = ({ headers }: typeof key) => [`Authorization: ${headers.authorization}`]

test('declared bytes do not count: idle bodies of any declared length delay no other', async () => {
  const all = await Promise.all(Array.from({ length: 150 }, () => open(1)))
  expect((await post()).status).toBe(200)
  const contacts = { path: '/public/v1/contacts', headers: authorized(browserKey) }
  await openMany(20, 1, contacts)
  expect((await post('/public/v1/contacts', key.headers)).status).toBe(200)
  expect(all.filter(isRefused)).toEqual([])
})

test('one address has 16 MiB in flight at most; beyond it, its oldest body is ended with 503 and Retry-After', async () => {
  const all = await openMany(4, 4 * MIB - 1)
  const elsewhere = await open(4 * MIB - 1, { localAddress: '127.0.0.2' })
  const last = await open(MIB)
  await eventually(async () => isRefused(all[0]!))
  expect(all[0]!.answer()).toMatch(/\r\nretry-after: 2\r\n[\s\S]*"code":"service_unavailable"/i)
  expect(statusesOf([...all.slice(1), elsewhere, last])).toEqual(['', '', '', '', ''])
  expect((await post()).status).toBe(200)
})

test('64 MiB of many addresses are in flight at most; beyond them, the address with most of them gives way', async () => {
  const all: Opened[] = []
  for (let host = 2; host < 10; host += 1) {
    all.push(...(await openMany(host < 9 ? 2 : 3, 4 * MIB - 1, { localAddress: `127.0.0.${host}` })))
  }
  await eventually(async () => isRefused(all[14]!))
  expect(all.filter(isRefused)).toEqual([all[14]])
  expect((await post()).status).toBe(200)
})

test('a body without a declared length counts like any other', async () => {
  const chunk = `${(4 * MIB - 10).toString(16)}\r\n`
  const chunked = async () => {
    const opened = await open(0, { headers: ['Transfer-Encoding: chunked'] })
    opened.socket.write(chunk + ' '.repeat(4 * MIB - 10))
    return opened
  }
  const all: Opened[] = []
  for (let one = 0; one < 5; one += 1) all.push(await chunked())
  await eventually(async () => isRefused(all[0]!))
})

test('a body that is answered no longer counts', async () => {
  // 72 MiB: more than are in flight at most.
  for (let call = 0; call < 24; call += 1) {
    const reply = await fetch(`${address}/hook`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify('x'.repeat(3 * MIB)),
    })
    expect(reply.status).toBe(200)
  }
})

test('requests that waited behind another on a closed connection no longer count', async () => {
  const body = `"${'x'.repeat(MIB / 4 - 2)}"`
  const behind = `POST /open HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  for (let round = 1; round <= 3; round += 1) {
    const { socket, answer } = await open(0, { path: '/never', headers: ['Transfer-Encoding: chunked'] })
    const before = handled
    socket.write(`2\r\n{}\r\n0\r\n\r\n${behind.repeat(4)}`)
    await eventually(async () => handled === before + 4)
    expect(answer()).toBe('')
    socket.destroy()
    await eventually(async () => (await post('/open')).status === 200)
  }
})

test('one company has 16 MiB in flight at most; the key with most of them gives way to another', async () => {
  const contacts = (one: typeof key) => ({ path: '/public/v1/contacts', headers: authorized(one) })
  const all = await openMany(4, 4 * MIB - 1, contacts(browserKey))
  const own = await open(MIB, contacts(key))
  await eventually(async () => isRefused(all[0]!))
  // The key that has most is refused what it adds.
  const added = await open(4 * MIB - 1, contacts(browserKey))
  await eventually(async () => isRefused(added))
  expect(statusesOf([...all.slice(1), own])).toEqual(['', '', '', ''])
  for (const one of [key, browserKey, other]) expect((await post('/public/v1/contacts', one.headers)).status).toBe(200)
})

test('a body that brings less than 40 KiB within five seconds is ended with 408', async () => {
  const order: string[] = []
  const bodies = { steady: 200 * 1024, idle: 1, slow: 30 * 1024 }
  const opening = Object.entries(bodies).map(async ([name, bytes]) => {
    const { socket, answer } = await send(bytes, { to: timedAddress })
    socket.once('close', () => {
      expect(answer()).toMatch(/^HTTP\/1\.1 408 [\s\S]*connection: close[\s\S]*"code":"request_timeout"/i)
      order.push(name)
    })
  })
  await Promise.all(opening)
  await eventually(async () => order.length === 3)
  // Its first window was full.
  expect(order.at(-1)).toBe('steady')
})
