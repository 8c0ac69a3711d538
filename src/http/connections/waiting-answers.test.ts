import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { createCertificate } from '../../../test/deploy/certificate.ts'
import { eventually } from '../../../test/service.ts'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import type { Config } from '../../platform/settings/config.ts'
import { type AnswerBounds, beyondBudget } from './waiting-answers.ts'

const MB = 1_000_000
/** The system keeps a part of it for a client that does not read. */
const LARGE = 20 * MB
const { db } = await createTestDatabase()
const [key, other] = [await createTestKey(db), await createTestKey(db)]
const answers: PromiseWithResolvers<void>[] = []
const sockets: Socket[] = []
afterEach(() => {
  for (const answer of answers.splice(0)) answer.resolve()
  for (const socket of sockets.splice(0)) socket.destroy()
})

async function listen(answerBounds: Partial<AnswerBounds>, config: Partial<Config> = {}) {
  const { app } = await createTestApi({
    db,
    config,
    bounds: { answers: { tickMs: 20, ...answerBounds } },
    routes: (app) => {
      const open = { config: { surface: 'public', waitsForOthers: true } } as const
      const large = 'x'.repeat(LARGE)
      app.get('/large', open, async () => large)
      app.get('/public/v1/large', async () => large)
      app.get('/parts', open, async (_request, reply) =>
        reply.send(Readable.from(Array.from({ length: LARGE / MB }, () => Buffer.alloc(MB)))),
      )
      app.get('/held', open, async () => {
        const answer = Promise.withResolvers<void>()
        answers.push(answer)
        await answer.promise
        return 'ok'
      })
    },
  })
  onTestFinished(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  return Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)
}

const get = (path: string, headers: Record<string, string> = {}) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

/** A client that does not read. */
function ask(socket: Socket, text: string) {
  sockets.push(socket)
  let isClosed = false
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  socket.pause().write(text)
  /** A client that does not read learns of the end of its connection when it writes. */
  const isEnded = async () => {
    socket.write('\r\n')
    return isClosed
  }
  return { socket, isEnded }
}

const SLOW = { windowSeconds: 5, leastBytesPerSecond: 1, budget: 1_000 * MB }

test('ends the connection of a client that takes nothing of its answer, whatever the answer is', async () => {
  const port = await listen(SLOW)
  for (const path of ['/large', '/parts']) {
    const { isEnded } = ask(connect(port, '127.0.0.1'), get(path))
    await eventually(isEnded)
  }
})

test('ends it under TLS, too', async () => {
  const folder = temporaryFolder()
  const { cert, key: certificateKey } = createCertificate()
  const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  writeFileSync(tls.certFile, cert)
  writeFileSync(tls.keyFile, certificateKey)
  const port = await listen(SLOW, { tls })
  const { isEnded } = ask(connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }), get('/large'))
  await eventually(isEnded)
})

test('a client that reads slowly gets its whole answer, although the system takes nothing meanwhile', async () => {
  const port = await listen({ ...SLOW, windowSeconds: 10 })
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.write(get('/large'))
  let received = 0
  let isEnded = false
  socket.on('close', () => {
    isEnded = true
  })
  // 200 kB in each tick: the system takes more only after a megabyte.
  while (received < LARGE && !isEnded) {
    received += socket.read(Math.min(100_000, socket.readableLength))?.length ?? 0
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  expect(received).toBeGreaterThanOrEqual(LARGE)
})

test('an answer that waits for one before it is not slow', async () => {
  const port = await listen(SLOW)
  const waiting = ask(connect(port, '127.0.0.1'), get('/held') + get('/large'))
  await eventually(async () => answers.length === 1)
  await eventually(ask(connect(port, '127.0.0.1'), get('/large')).isEnded)
  let received = 0
  waiting.socket.on('data', (chunk) => {
    received += chunk.length
  })
  for (const answer of answers) answer.resolve()
  waiting.socket.resume()
  await eventually(async () => received > LARGE)
})

test('of a company with too many waiting answers, the oldest end; others keep theirs', async () => {
  const port = await listen({ budget: 100 * MB, groupShare: 1 / 2, leastBytesPerSecond: 0 })
  const open = (headers: Record<string, string>) => ask(connect(port, '127.0.0.1'), get('/public/v1/large', headers))
  const others = [open(other.headers), open(other.headers)]
  const own = [open(key.headers), open(key.headers), open(key.headers)]
  await eventually(async () => (await Promise.all(own.map(({ isEnded }) => isEnded()))).includes(true))
  const isEnded = await Promise.all([...own, ...others].map((one) => one.isEnded()))
  expect(isEnded.filter(Boolean)).toHaveLength(1)
})

test('a company or address has a part of the budget, and all together have the whole', () => {
  let number = 0
  const held = (group: string, client: string, bytes: number) => ({ group, client, bytes, number: ++number })
  const bounds = { budget: 100, groupShare: 1 / 4 }
  const [first, second, third, small] = [
    held('a', 'a1', 10),
    held('a', 'a1', 10),
    held('a', 'a2', 4),
    held('b', 'b', 25),
  ]
  expect(beyondBudget([first, second, third, small], bounds)).toEqual([])
  const fourth = held('a', 'a2', 4)
  expect(beyondBudget([first, second, third, small, fourth], bounds)).toEqual([first])
  const many = ['c', 'd', 'e'].flatMap((group) => [held(group, group, 12), held(group, group, 12)])
  expect(beyondBudget([small, third, ...many], bounds)).toEqual([small])
})
