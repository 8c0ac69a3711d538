import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, expect, onTestFinished, test } from 'vitest'
import { createTestApi, createTestKey } from '../../test/api.ts'
import { openStream } from '../../test/conversations/live-stream.ts'
import { createTestDatabase } from '../../test/database.ts'
import { eventually } from '../../test/service.ts'
import type { ServerDeps } from '../http/server/server.ts'
import { systemClock } from '../platform/clock.ts'
import { createHub } from './hub.ts'
import { createPublish, notify } from './notice.ts'
import { CONTENT_TYPE, STREAM_LIMITS, streamRoutes } from './stream-routes.ts'

const { db } = await createTestDatabase()
/** Exceeds the kernel's socket buffers. */
const MUCH = 24_000_000
/** The length of the text in each record that the readers return, and the ids that they were asked for. */
let sizeOfRecords = 10
let readIds: number[][] = []
const read = async (_companyId: number, ids: readonly number[]) => {
  readIds.push([...ids])
  return ids.map((id) => ({ id, text: 'x'.repeat(sizeOfRecords) }))
}
const readers = {
  conversation: read,
  message: read,
  contact: read,
  delivery: read,
  import: read,
  scheduled: read,
  conversationsOf: async () => [],
}
const publish = createPublish(db, () => {})
const startHub = () => createHub({ db, clock: systemClock, readers, onFailure: () => {} })

/** Starts streams with test limits on a separate hub. */
async function startStreams(limits: Partial<typeof STREAM_LIMITS>, bounds?: ServerDeps['bounds']) {
  const hub = startHub()
  const routes = streamRoutes({ hub }, { ...STREAM_LIMITS, ...limits })
  const { app } = await createTestApi({
    db,
    ...(bounds && { bounds }),
    routes: async (to) => void (await to.register(routes)),
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/public/v1/events`
  apps.push(app)
  return { app, url, open: ({ headers }: { headers: Record<string, string> }) => openStream(url, headers) }
}
const apps: { close(): PromiseLike<unknown> }[] = []
afterEach(async () => {
  sizeOfRecords = 10
  readIds = []
  for (const app of apps.splice(0)) await app.close()
})

test('refuses a stream beyond the limit of a company with 429, and of the process with 503', async () => {
  const { open } = await startStreams({ caller: 2, company: 3, process: 5 })
  const first = await createTestKey(db)
  const second = await createTestKey(db, { companyId: first.companyId })
  const other = await createTestKey(db)
  const statusOf = async (key: typeof first) => (await open(key)).response.status
  expect([await statusOf(first), await statusOf(first), await statusOf(first)]).toEqual([200, 200, 429])
  expect([await statusOf(second), await statusOf(second)]).toEqual([200, 429])
  expect([await statusOf(other), await statusOf(other)]).toEqual([200, 200])
  const third = await createTestKey(db, { companyId: other.companyId })
  const refused = await open(third)
  expect([refused.response.status, refused.response.headers.get('retry-after')]).toEqual([503, '5'])
})

test('when the process has no room, a company with fewer streams gets one of those with the most, oldest first', async () => {
  const { open } = await startStreams({ caller: 5, process: 10 })
  const [first, second, other] = [await createTestKey(db), await createTestKey(db), await createTestKey(db)]
  const openAll = async (key: typeof first, count: number) => {
    const opened = []
    for (let n = 0; n < count; n += 1) opened.push(await open(key))
    return opened
  }
  const held = [...(await openAll(first, 5)), ...(await openAll(second, 5))]
  const opened = await openAll(other, 4)
  expect(opened.map(({ response }) => response.status)).toEqual([200, 200, 200, 503])
  const ended = () => held.flatMap((one, at) => (one.hasEnded() ? [at] : []))
  await eventually(async () => ended().length === 3)
  expect(ended()).toEqual([0, 1, 5])
  // Losers get no stream back: they would only take turns.
  expect((await open(first)).response.status).toBe(503)
  publish([{ topic: 'message', companyId: other.companyId, id: 1 }])
  expect(await opened[0]?.next('message')).toMatchObject({ id: 1 })
  // A stream whose socket dies makes room.
  held[9]?.stop()
  await eventually(async () => (await open(first)).response.status === 200)
})

const countConnections = (app: FastifyInstance): Promise<number> =>
  new Promise((resolve) => app.server.getConnections((_, count) => resolve(count)))

/** A reader that can pause. */
async function openSlow(url: string, headers: Record<string, string>) {
  const [response] = (await once(get(url, { headers }), 'response')) as [IncomingMessage]
  let text = ''
  let isClosed = false
  response.on('data', (chunk) => (text += chunk))
  response.on('close', () => {
    isClosed = true
  })
  response.on('error', () => {})
  afterAll(() => response.destroy())
  await eventually(async () => text.includes('event: ready'))
  const eventsOf = () => [...text.matchAll(/^event: (\w+)$/gm)].map(([, event]) => event)
  return { response, eventsOf, isClosed: () => isClosed }
}

/** Makes a paused reader fall behind with message 1, waits until `quick` has read it, then sends message 2. */
async function sendMuch(companyId: number, quick?: Awaited<ReturnType<typeof openStream>>): Promise<void> {
  sizeOfRecords = MUCH
  await send(companyId, 1)
  sizeOfRecords = 10
  await quick?.next('message', ({ id }) => id === 1)
  await send(companyId, 2)
  await quick?.next('message', ({ id }) => id === 2)
}

async function send(companyId: number, id: number): Promise<void> {
  publish([{ topic: 'message', companyId, id }])
  await eventually(async () => readIds.flat().includes(id))
}

test('leaves out events for a slow reader, and sends it a reset when it has caught up', async () => {
  const { url } = await startStreams({}, { answers: { windowSeconds: 1_000, budget: 100 * MUCH } })
  const key = await createTestKey(db)
  const slow = await openSlow(url, key.headers)
  const quick = await openStream(url, key.headers)
  slow.response.pause()
  await sendMuch(key.companyId, quick)
  slow.response.resume()
  await eventually(async () => slow.eventsOf().includes('reset'))
  expect(slow.eventsOf()).toEqual(['ready', 'message', 'reset'])
  expect(quick.events.map(({ event }) => event)).toEqual(['ready', 'message', 'message'])
  publish([{ topic: 'message', companyId: key.companyId, id: 3 }])
  await eventually(async () => slow.eventsOf().at(-1) === 'message')
})

test('leaves out nothing for a reader that keeps up, however much is sent at once', async () => {
  const { open } = await startStreams({ queuedBytes: 10 })
  const key = await createTestKey(db)
  const stream = await open(key)
  await sendMuch(key.companyId, stream)
  expect(stream.events.map(({ event }) => event)).toEqual(['ready', 'message', 'message'])
})

test('reads a changed record once for all streams of a company, and never for other companies', async () => {
  const { open } = await startStreams({})
  const [mine, other] = [await createTestKey(db), await createTestKey(db)]
  const streams = await Promise.all(Array.from({ length: 100 }, () => open(mine)))
  const foreign = await open(other)
  publish([{ topic: 'message', companyId: mine.companyId, id: 1 }])
  for (const stream of streams) expect(await stream.next('message')).toMatchObject({ id: 1 })
  expect(readIds).toEqual([[1]])
  expect(foreign.events.map(({ event }) => event)).toEqual(['ready'])
})

test('a process holds 1,000 streams of ten companies, reads a record once for each of them, and refuses one more', async () => {
  const { open } = await startStreams({})
  const streams: Awaited<ReturnType<typeof openStream>>[] = []
  for (let company = 1; company <= 10; company += 1) {
    const key = await createTestKey(db)
    const opened = await Promise.all(Array.from({ length: 100 }, () => open(key)))
    publish([{ topic: 'message', companyId: key.companyId, id: company }])
    for (const stream of opened) expect(await stream.next('message')).toMatchObject({ id: company })
    streams.push(...opened)
  }
  expect(readIds).toEqual(Array.from({ length: 10 }, (_, n) => [n + 1]))
  expect(streams.filter(({ hasEnded }) => hasEnded())).toEqual([])
  const [held] = await db<{ companyId: number }[]>`select company_id from api_keys order by company_id desc limit 1`
  const another = await createTestKey(db, { companyId: held?.companyId ?? 0 })
  const refused = await open(another)
  expect([refused.response.status, refused.response.headers.get('retry-after')]).toEqual([503, '5'])
  // The sockets of another company die.
  for (const { stop } of streams.slice(0, 100)) stop()
  await eventually(async () => (await open(another)).response.status === 200)
}, 300_000)

test('a company whose changes come too quickly gets a reset, and records again when they are slower', async () => {
  const { open } = await startStreams({})
  const [loud, other] = [await createTestKey(db), await createTestKey(db)]
  const [flooded, calm] = [await open(loud), await open(other)]
  const idsFrom = (first: number) => Array.from({ length: 400 }, (_, n) => first + n)
  // One commit, so both arrive together.
  await db.begin(async (tx) => {
    for (const first of [1, 401, 801])
      await notify(tx, JSON.stringify({ [loud.companyId]: { message: idsFrom(first) } }))
    await notify(tx, JSON.stringify({ [other.companyId]: { message: [2_000] } }))
  })
  await flooded.next('reset')
  expect(await calm.next('message')).toMatchObject({ id: 2_000 })
  expect(readIds.flat().length).toBeLessThanOrEqual(401)
  await eventually(async () => {
    publish([{ topic: 'message', companyId: loud.companyId, id: 3_000 }])
    return flooded.events.some(({ data }) => data.id === 3_000)
  })
})

test('sends a reset to many streams of a company in groups, to each once', async () => {
  const hub = startHub()
  onTestFinished(() => hub.close())
  const { companyId } = await createTestKey(db)
  const resets: number[] = []
  const groups = new Map<number, number>()
  let turn = 0
  for (let n = 0; n < 12; n += 1) {
    const write = () => {
      if (groups.size === 0 || !groups.has(turn)) setImmediate(() => (turn += 1))
      groups.set(turn, (groups.get(turn) ?? 0) + 1)
      resets.push(n)
    }
    await hub.open({ companyId, topics: new Set(), write })
  }
  publish([{ topic: 'all', companyId }])
  await eventually(async () => resets.length >= 12)
  expect([...groups.values()]).toEqual([5, 5, 2])
  expect(resets.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, n) => n))
})

test('closes the connection of a reader that stays slow', async () => {
  const { app, url } = await startStreams({}, { answers: { tickMs: 20, windowSeconds: 5 } })
  const key = await createTestKey(db)
  const slow = await openSlow(url, key.headers)
  slow.response.pause()
  await sendMuch(key.companyId)
  // A paused reader sees the end only after resuming.
  await eventually(async () => (await countConnections(app)) === 0)
  slow.response.resume()
  await eventually(async () => slow.isClosed())
  expect(slow.response.complete).toBe(false)
})

test('a stop does not wait for a reader that has stopped reading', async () => {
  const { app, url } = await startStreams({})
  const key = await createTestKey(db)
  const slow = await openSlow(url, key.headers)
  slow.response.pause()
  await sendMuch(key.companyId)
  await app.close()
  expect(app.server.listening).toBe(false)
})

test('answers HEAD without a stream', async () => {
  const { url } = await startStreams({})
  const { headers } = await createTestKey(db)
  const response = await fetch(url, { method: 'HEAD', headers, signal: AbortSignal.timeout(10_000) })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, CONTENT_TYPE])
})

test('a stop ends open streams with bye', async () => {
  const { app, open } = await startStreams({})
  const stream = await open(await createTestKey(db))
  await app.close()
  await eventually(async () => stream.hasEnded())
  expect(stream.events.map(({ event }) => event)).toEqual(['ready', 'bye'])
})

test('a stream ends soon after its key was revoked in another process', async () => {
  const { open } = await startStreams({})
  const key = await createTestKey(db)
  const stream = await open(key)
  await db`update api_keys set revoked_at = now() where client_id = ${key.clientId}`
  // Within 5 s on an idle machine.
  await eventually(async () => stream.hasEnded(), 20_000)
})
