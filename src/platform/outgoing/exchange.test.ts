import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import { expect, test } from 'vitest'
import { atFileEnd } from '../../../test/file-end.ts'
import { startHeldServer, stopProcess } from '../../../test/held-handshakes.ts'
import { startReceiver } from '../../../test/receiver.ts'
import { type Call, createProviderAgent, exchange } from './exchange.ts'

const HASTY_MS = 200
const PATIENT_MS = 60_000

/** One connection, so that a later request arrives after an earlier one. */
const oneConnection = (ca?: string): Agent => {
  const agent = new Agent({ connections: 1, pipelining: 1, allowH2: false, connect: { ca: ca ?? [] } })
  atFileEnd(() => agent.destroy())
  return agent
}

const post = (dispatcher: Dispatcher, url: string, path: string, others: Partial<Call> = {}) =>
  exchange(dispatcher, {
    method: 'POST',
    url: new URL(path, url).href,
    headers: {},
    body: '{}',
    timeoutMs: PATIENT_MS,
    ...others,
  })

const NOT_SENT = { kind: 'not-sent', detail: `no answer within ${HASTY_MS} ms` }

test('withdraws a request whose TLS handshake ends after the deadline', async () => {
  const server = await startHeldServer()
  const agent = oneConnection(server.cert)
  expect(await post(agent, server.url, '/late', { timeoutMs: HASTY_MS })).toMatchObject(NOT_SENT)
  const next = post(agent, server.url, '/next')
  server.release()
  expect(await next).toMatchObject({ kind: 'answered', status: 200 })
  expect(server.paths).toEqual(['/next'])
})

test('withdraws a file whose TLS handshake ends after the deadline, and does not read it', async () => {
  const server = await startHeldServer()
  const agent = oneConnection(server.cert)
  let wasRead = false
  const file = async function* () {
    wasRead = true
    yield Buffer.from('file')
  }
  const body = Readable.from(file())
  expect(await post(agent, server.url, '/late', { timeoutMs: HASTY_MS, body })).toMatchObject(NOT_SENT)
  const next = post(agent, server.url, '/next')
  server.release()
  expect(await next).toMatchObject({ kind: 'answered', status: 200 })
  expect(server.paths).toEqual(['/next'])
  expect(wasRead).toBe(false)
  expect(body.destroyed).toBe(true)
})

test('withdraws a request that waits longer than its deadline for a connection', async () => {
  let answer = () => undefined as unknown
  const isHeld = new Promise<void>((resolve) => {
    answer = () => resolve()
  })
  const receiver = await startReceiver(async (request, response) => {
    if (request.url === '/first') await isHeld
    response.end('{}')
  })
  const agent = oneConnection()
  const first = post(agent, receiver.url, '/first')
  expect(await post(agent, receiver.url, '/late', { timeoutMs: HASTY_MS })).toMatchObject(NOT_SENT)
  const next = post(agent, receiver.url, '/next')
  answer()
  expect(await Promise.all([first, next])).toMatchObject([{ kind: 'answered' }, { kind: 'answered' }])
  expect(receiver.received.map(({ url }) => url)).toEqual(['/first', '/next'])
})

test('sends nothing after a deadline that passed while the process was stopped', async () => {
  const receiver = await startReceiver((_, response) => response.end('{}'))
  const agent = oneConnection()
  const late = post(agent, receiver.url, '/late', { timeoutMs: HASTY_MS })
  // The socket begins to connect before this, and the system completes the connection meanwhile.
  await new Promise((resolve) => process.nextTick(resolve))
  stopProcess(2 * HASTY_MS)
  expect(await late).toMatchObject(NOT_SENT)
  expect(await post(agent, receiver.url, '/next')).toMatchObject({ kind: 'answered' })
  expect(receiver.received.map(({ url }) => url)).toEqual(['/next'])
})

test('sends nothing if the connection opens before the late timer fires', async () => {
  const receiver = await startReceiver((_, response) => response.end('{}'))
  const agent = new Agent({
    connect: ({ hostname, port }, opened) => {
      const socket = connect(Number(port), hostname)
      socket.on('connect', () => {
        stopProcess(2 * HASTY_MS)
        opened(null, socket)
      })
      return socket
    },
  })
  atFileEnd(() => agent.destroy())
  expect(await post(agent, receiver.url, '/late', { timeoutMs: HASTY_MS })).toMatchObject(NOT_SENT)
  expect(await post(agent, receiver.url, '/next')).toMatchObject({ kind: 'answered' })
  expect(receiver.received.map(({ url }) => url)).toEqual(['/next'])
})

test('leaves the outcome open if the deadline passes after the request was written', async () => {
  const receiver = await startReceiver(() => undefined)
  // A busy machine needs a longer deadline to write it.
  for (const timeoutMs of [HASTY_MS, 10 * HASTY_MS, 100 * HASTY_MS]) {
    const { kind } = await post(createAgent(), receiver.url, '/', { timeoutMs })
    if (kind === 'no-answer') break
    expect(kind).toBe('not-sent')
  }
  expect(receiver.received).toHaveLength(1)
})

test.each([
  ['no URL', {}],
  ['ftp://127.0.0.1/', {}],
  ['http://127.0.0.1:9/', { headers: { 'bad name': 'x' } }],
])('sends nothing to the address %s with the headers %o', async (url, others) => {
  const call = { method: 'POST' as const, url, headers: {}, timeoutMs: PATIENT_MS, ...others }
  expect(await exchange(createAgent(), call)).toMatchObject({ kind: 'not-sent' })
})

function createAgent(): Dispatcher {
  const agent = createProviderAgent()
  atFileEnd(() => agent.destroy())
  return agent
}
