import { randomInt } from 'node:crypto'
import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { startEmbedded } from '../../src/db/embedded/start.ts'
import { ADMIN_TOKEN, createTestKey } from '../api.ts'
import { freePort } from '../free-port.ts'
import { type ParleyProcess, readyFolder, startParley } from '../parley-process.ts'
import { bodyOf, changeOf, textFrom, WEBHOOK } from '../provider-webhook.ts'
import { eventually } from '../service.ts'
import { createSender } from '../world.ts'
import { openKeyStream, openStream } from './live-stream.ts'

const TIMEOUT_MS = 120_000
const COME_BACK_MS = 40_000
const STOPS = 3
/** The operating system chooses the worker of a connection. */
const MAX_STREAMS = 90

/** A company on a database server of its own, and processes of the service on that database, the first with `firstEnv`. */
async function createWorld(firstEnv: Record<string, string> = {}) {
  const folder = await readyFolder()
  let server = await startEmbedded(folder, { fsync: 'off' })
  onTestFinished(() => server.stop())
  const start = async (env: Record<string, string> = {}) => {
    const port = await freePort()
    return startParley({
      DATABASE_URL: server.url,
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
      ADMIN_TOKEN,
      ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
      LOG_LEVEL: 'warn',
      ...env,
    })
  }
  const first = await start(firstEnv)
  const db = connect(server.url, { max: 1 })
  const { companyId, token } = await createTestKey(db)
  const senderId = await createSender(db, companyId)
  const [route] = await db<{ phoneNumberId: string }[]>`
    insert into sender_routes (phone_number_id, company_id, sender_id)
    select phone_number_id, company_id, id from senders where (company_id, id) = (${companyId}, ${senderId})
    returning phone_number_id`
  await db.end()
  const write = async (to: ParleyProcess, text: string) => {
    const message = textFrom(`39333${randomInt(1e6, 1e7)}`, text)
    const body = bodyOf(changeOf(route!.phoneNumberId, { messages: [message] }))
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${to.address}${WEBHOOK}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return answer.status
  }
  /** The processes that have streams. */
  const countListening = async () => {
    const watching = connect(server.url, { max: 1 })
    const rows = await watching`select from live_listeners`
    await watching.end()
    return rows.length
  }
  const restartDatabase = async () => {
    await server.stop()
    server = await startEmbedded(folder, { fsync: 'off' })
  }
  const streamOf = (of: ParleyProcess) => openKeyStream(of.address, token)
  /** The stream of a page that is signed in with the key. */
  const pageStreamOf = async (of: ParleyProcess) => {
    const asPage = { 'sec-fetch-site': 'same-origin', origin: of.address, 'content-type': 'application/json' }
    const address = `${of.address}/console/api/session`
    const answer = await fetch(address, { method: 'POST', headers: asPage, body: JSON.stringify({ token }) })
    const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
    return openStream(`${of.address}/console/api/public/v1/events`, { ...asPage, cookie })
  }
  return { first, start, write, restartDatabase, countListening, streamOf, pageStreamOf, token }
}

test(
  'streams of keys and of sessions get the changes of another process, also after the database was restarted',
  async () => {
    const { first, start, write, restartDatabase, streamOf, pageStreamOf } = await createWorld()
    const second = await start()
    const streams = [await streamOf(first), await streamOf(second), await pageStreamOf(second)]
    expect(await write(first, 'Before')).toBe(200)
    for (const stream of streams) await stream.next('message', ({ message }) => message.text === 'Before')

    await restartDatabase()
    for (const stream of streams) await stream.next('reset', () => true, COME_BACK_MS)
    await eventually(async () => (await write(first, 'After')) === 200, COME_BACK_MS)
    for (const stream of streams) {
      await stream.next('message', ({ message }) => message.text === 'After', COME_BACK_MS)
      expect(stream.hasEnded()).toBe(false)
    }
  },
  TIMEOUT_MS,
)

test(
  'streams of both workers of one command get every change, and a stop says bye to each',
  async () => {
    const { first: parley, write, streamOf, countListening } = await createWorld({ PROCESSES: '2' })
    const streams: Awaited<ReturnType<typeof streamOf>>[] = []
    while ((await countListening()) < 2) {
      expect(streams.length).toBeLessThan(MAX_STREAMS)
      streams.push(await streamOf(parley))
    }
    for (const text of ['One', 'Two', 'Three']) expect(await write(parley, text)).toBe(200)
    for (const stream of streams) {
      for (const text of ['One', 'Two', 'Three']) await stream.next('message', ({ message }) => message.text === text)
    }
    expect(await parley.signal('SIGTERM')).toBe(0)
    for (const { events } of streams) expect(events.at(-1)?.event).toBe('bye')
  },
  TIMEOUT_MS,
)

test(
  'a stop says bye to every stream and does not wait for readers that have stopped reading or come back',
  async () => {
    const { first, start, streamOf, pageStreamOf, token } = await createWorld()
    for (let stop = 0; stop < STOPS; stop += 1) {
      const parley = stop === 0 ? first : await start()
      const streams = [await streamOf(parley), await pageStreamOf(parley)]
      // It never reads an answer.
      const paused = createConnection(Number(new URL(parley.address).port), '127.0.0.1').on('error', () => {})
      paused.pause()
      paused.write(`GET /public/v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`)
      // A page opens its stream again as soon as it ends.
      let isStopped = false
      const openAgain = async () => {
        while (!isStopped) {
          await streamOf(parley).then(
            ({ stop: close }) => close(),
            () => {},
          )
          await sleep(50)
        }
      }
      const opening = openAgain()
      expect(await parley.signal('SIGTERM')).toBe(0)
      // At the deadline of 10 s, connections are cut.
      expect(parley.output()).not.toContain('http.drain.cut')
      isStopped = true
      await opening
      paused.destroy()
      for (const stream of streams) {
        expect(stream.events.map(({ event }) => event)).toContain('bye')
        expect(stream.hasEnded()).toBe(true)
      }
    }
  },
  TIMEOUT_MS,
)
