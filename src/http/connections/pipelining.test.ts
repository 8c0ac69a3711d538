import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, expect, test } from 'vitest'
import { createTestApi } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { eventually } from '../../../test/service.ts'
import { MOST_UNANSWERED } from './connections.ts'

const { db } = await createTestDatabase()
const answers: PromiseWithResolvers<void>[] = []
/** The requests that have begun, and the lengths of the bodies that have arrived. */
let begun: string[] = []
let bodies: number[] = []
const { app } = await createTestApi({
  db,
  routes: (app) => {
    const config = { surface: 'public', waitsForOthers: true } as const
    app.get('/quick', { config }, async () => 'ok')
    app.get<{ Params: { n: string } }>('/held/:n', { config }, async ({ params }) => {
      begun.push(params.n)
      const answer = Promise.withResolvers<void>()
      answers.push(answer)
      await answer.promise
      return `answer ${params.n}`
    })
    app.get<{ Params: { n: string } }>('/spun/:n', { config }, async ({ params }) => {
      begun.push(params.n)
      const startedMs = performance.now()
      while (performance.now() - startedMs < 3);
      return 'ok'
    })
    app.post('/body', { config }, async (request) => {
      bodies.push(JSON.stringify(request.body).length)
      return 'taken'
    })
  },
})
const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)
const sockets: Socket[] = []
afterEach(() => {
  for (const answer of answers.splice(0)) answer.resolve()
  for (const socket of sockets.splice(0)) socket.destroy()
  begun = []
  bodies = []
})
afterAll(() => app.close())

function open(localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  sockets.push(socket)
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  return { socket, received: () => received, answered: () => received.split('HTTP/1.1 200 ').length - 1 }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const post = (body: string) =>
  `POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const names = (count: number) => Array.from({ length: count }, (_, n) => String(n))

/** Until a request of another connection is answered, the service has read what it reads. */
async function settle(): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    const other = open()
    other.socket.write(get('/quick'))
    await eventually(async () => other.answered() === 1)
  }
}

test('reads eight requests of a connection, and one more for each answer, in their order', async () => {
  const { socket, received, answered } = open()
  const all = names(20)
  socket.write(all.map((n) => get(`/held/${n}`)).join(''))
  await eventually(async () => begun.length === MOST_UNANSWERED)
  await settle()
  expect(begun).toEqual(all.slice(0, MOST_UNANSWERED))
  for (let n = 0; n < all.length; n += 1) {
    await eventually(async () => answers.length > n)
    answers[n]!.resolve()
    await eventually(async () => answered() === n + 1)
    expect(begun.length).toBeLessThanOrEqual(n + 1 + MOST_UNANSWERED)
  }
  expect(begun).toEqual(all)
  expect(received().match(/answer \d+/g)).toEqual(all.map((n) => `answer ${n}`))
})

test('requests of many connections, and pipelined ones, begin in turns of 2 ms, client addresses round robin', async () => {
  const flood = Array.from({ length: 5 }, () => open())
  const other = open('127.0.0.2')
  const all = [...flood, other]
  for (const { socket } of all) socket.write(get('/quick'))
  await eventually(async () => all.every(({ answered }) => answered() === 1))
  const write = ({ socket }: typeof other, name: string) => socket.write(get(`/spun/${name}`).repeat(MOST_UNANSWERED))
  for (const one of flood) write(one, 'flood')
  write(other, 'other')
  let most = 0
  while (begun.length < all.length * MOST_UNANSWERED) {
    const before = begun.length
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, begun.length - before)
  }
  // One at once, the other from the line.
  expect(most).toBeLessThanOrEqual(2)
  expect(begun.lastIndexOf('other')).toBeLessThan(begun.length - MOST_UNANSWERED)
})

test('leaves what it does not read with the client', async () => {
  const { socket, answered } = open()
  const request = get('/held/0')
  const count = 200_000
  // More than the buffers of the system hold.
  let isSent = false
  socket.write(request.repeat(count), () => {
    isSent = true
  })
  await eventually(async () => begun.length === MOST_UNANSWERED)
  await settle()
  expect([begun.length, isSent, answered()]).toEqual([MOST_UNANSWERED, false, 0])
})

test('a body that arrives with requests before and after it is read whole, in pieces or at once', async () => {
  const body = JSON.stringify({ text: 'a\r\n\r\nGET /held/9 HTTP/1.1\r\n\r\n'.repeat(3_000) })
  const large = JSON.stringify('\r\n\r\n'.repeat(20_000))
  const bytes = [get('/quick'), post(body), post(large), get('/quick'), post('{}')].join('')
  const whole = open()
  whole.socket.write(bytes)
  await eventually(async () => whole.answered() === 5)
  expect(bodies).toEqual([body.length, large.length, 2])
  const inPieces = open()
  inPieces.socket.setNoDelay()
  const short = [get('/quick'), post('{"a":1}'), get('/quick')].join('')
  for (const byte of short) await new Promise((resolve) => inPieces.socket.write(byte, resolve))
  await eventually(async () => inPieces.answered() === 3)
  expect(begun).toEqual([])
})

test('chunked bodies, and requests that expect what is not served, count like all others', async () => {
  const chunked =
    'POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
  const { socket, answered, received } = open()
  socket.write(
    `${chunked}2\r\n{}\r\n0\r\n\r\n${get('/quick')}${chunked}3\r\n{} \r\n0\r\nX-Trailer: a\r\n\r\n${get('/quick')}`,
  )
  await eventually(async () => answered() === 4)
  const expecting = 'GET /quick HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n'
  socket.write(expecting.repeat(20) + get('/quick'))
  await eventually(async () => answered() === 5)
  expect(received().split('HTTP/1.1 417 ').length - 1).toBe(20)
})

test('a client that takes no answers is not read, and goes on when it takes them', async () => {
  const { socket, answered } = open()
  socket.pause()
  socket.write(get('/quick').repeat(2_000))
  await settle()
  socket.resume()
  await eventually(async () => answered() === 2_000)
})
