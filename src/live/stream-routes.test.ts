import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../test/api.ts'
import { createTestDatabase } from '../../test/database.ts'
import { openStream } from '../../test/live-stream.ts'
import { eventually } from '../../test/service.ts'
import { systemClock } from '../clock.ts'
import { createHub } from './hub.ts'
import { STREAM_LIMITS, streamRoutes } from './stream-routes.ts'
import { createTell } from './tell.ts'

const { db } = await createTestDatabase()
/** The length of the text in each record that the readers return. */
let sizeOfRecords = 10
const read = async (_companyId: number, ids: readonly number[]) =>
  ids.map((id) => ({ id, text: 'x'.repeat(sizeOfRecords) }))
const tell = createTell(db, () => {})

/** The service's streams with limits of the test, on a hub with the given records. */
async function startStreams(limits: Partial<typeof STREAM_LIMITS>) {
  const readers = { conversation: read, message: read, delivery: read, import: read }
  const hub = createHub({ db, clock: systemClock, readers, onFailure: () => {} })
  const routes = streamRoutes({ hub }, { ...STREAM_LIMITS, ...limits })
  const { app } = await createTestApi({ db, routes: async (to) => void (await to.register(routes)) })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/public/v1/events`
  apps.push(app)
  return { app, url, open: ({ headers }: { headers: Record<string, string> }) => openStream(url, headers) }
}
const apps: { close(): PromiseLike<unknown> }[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

test('refuses a stream beyond the limit of a company with 429, and of the process with 503', async () => {
  const { open } = await startStreams({ caller: 2, company: 3, process: 5 })
  const first = await createTestKey(db)
  const second = await createTestKey(db, { companyId: first.companyId })
  const other = await createTestKey(db)
  const another = await createTestKey(db)
  const statusOf = async (key: typeof first) => (await open(key)).response.status
  expect([await statusOf(first), await statusOf(first), await statusOf(first)]).toEqual([200, 200, 429])
  expect([await statusOf(second), await statusOf(second)]).toEqual([200, 429])
  expect([await statusOf(other), await statusOf(other)]).toEqual([200, 200])
  const refused = await open(another)
  expect([refused.response.status, refused.response.headers.get('retry-after')]).toEqual([503, '5'])
})

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

/** So much that the kernel cannot keep it for a reader. */
async function sendMuch(companyId: number, from: number): Promise<void> {
  sizeOfRecords = 2_000_000
  for (let id = from; id < from + 12; id += 1) {
    tell([{ topic: 'message', companyId, id }])
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
  sizeOfRecords = 10
}

test('leaves out events for a slow reader, and tells it to read again when it has caught up', async () => {
  const { url } = await startStreams({ staleMs: 60_000 })
  const key = await createTestKey(db)
  const slow = await openSlow(url, key.headers)
  const quick = await openStream(url, key.headers)
  slow.response.pause()
  await sendMuch(key.companyId, 1)
  await quick.next('message', ({ id }) => id === 12)
  slow.response.resume()
  await eventually(async () => slow.eventsOf().includes('reset'))
  expect(slow.eventsOf().filter((event) => event === 'message').length).toBeLessThan(12)
  expect(quick.events.filter(({ event }) => event === 'message')).toHaveLength(12)
  tell([{ topic: 'message', companyId: key.companyId, id: 99 }])
  await eventually(async () => slow.eventsOf().at(-1) === 'message')
})

test('closes the connection of a reader that stays slow', async () => {
  const { url } = await startStreams({ staleMs: 100 })
  const key = await createTestKey(db)
  const slow = await openSlow(url, key.headers)
  slow.response.pause()
  await sendMuch(key.companyId, 1)
  // A paused reader sees the end only when it reads on.
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  slow.response.resume()
  await eventually(async () => slow.isClosed())
  expect(slow.response.complete).toBe(false)
})

test('a stop does not wait for a reader that has stopped reading', async () => {
  const { app, url } = await startStreams({})
  const key = await createTestKey(db)
  const slow = await openSlow(url, key.headers)
  slow.response.pause()
  await sendMuch(key.companyId, 1)
  await app.close()
  expect(app.server.listening).toBe(false)
})

test('a stream ends soon after its key was revoked in another process', async () => {
  const { open } = await startStreams({})
  const key = await createTestKey(db)
  const stream = await open(key)
  await db`update api_keys set revoked_at = now() where client_id = ${key.clientId}`
  // Within 5 s on an idle machine.
  await eventually(async () => stream.hasEnded(), 20_000)
})
