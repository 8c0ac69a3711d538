import { connect, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, afterEach, expect, test } from 'vitest'
import { createTestApi } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { eventually } from '../../../test/service.ts'
import { UPLOAD_MS } from './slow-uploads.ts'

const LENGTH = 1_000_000
const { db } = await createTestDatabase()
let arrived = 0
/** Until then the service reads no more of some uploads. */
let reading = Promise.resolve()
const { app } = await createTestApi({
  db,
  bounds: { uploads: { windowSeconds: 5, tickMs: 20, leastBytesPerSecond: 1 } },
  routes: (app) => {
    app.addContentTypeParser('application/octet-stream', async (request: { url: string }, payload: Readable) => {
      await pipeline(payload, async (chunks: AsyncIterable<Buffer>) => {
        for await (const chunk of chunks) {
          arrived += chunk.length
          if (request.url === '/upload?later') await reading
        }
      })
    })
    const config = { surface: 'public', waitsForOthers: true, streamsBody: true } as const
    app.post('/upload', { config, bodyLimit: 10_000_000 }, async () => 'taken')
    app.post('/public/v1/refused', async () => 'never')
  },
})
const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)
const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  arrived = 0
})
afterAll(() => app.close())

function post(path: string, length: number) {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  let received = ''
  let isClosed = false
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: ${length}\r\n\r\nx`,
  )
  return { socket, received: () => received, isClosed: () => isClosed }
}

test('an upload that stands still is answered 408, and its connection is closed', async () => {
  const { received, isClosed } = post('/upload', LENGTH)
  await eventually(async () => isClosed())
  expect(received()).toMatch(/^HTTP\/1\.1 408 /)
  expect(received()).toContain('"request_timeout"')
  expect(arrived).toBe(1)
})

test('an upload may take as long as it moves, and waits for the service as long as that takes', async () => {
  expect(app.server.requestTimeout).toBe(UPLOAD_MS)
  const moving = post('/upload', LENGTH)
  const { promise, resolve } = Promise.withResolvers<void>()
  reading = promise
  const unread = post('/upload?later', 5_000_000)
  await eventually(async () => arrived >= 2)
  unread.socket.write(Buffer.alloc(4_999_999))
  let left = LENGTH - 1
  for (let n = 0; n < 3; n += 1) {
    // A stalled one ends meanwhile.
    const idle = post('/upload', LENGTH)
    while (!idle.isClosed()) {
      moving.socket.write('x'.repeat(10))
      left -= 10
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  expect([moving.isClosed(), unread.isClosed()]).toEqual([false, false])
  resolve()
  moving.socket.write(Buffer.alloc(left))
  await eventually(async () => unread.received().startsWith('HTTP/1.1 200 '))
  await eventually(async () => moving.received().startsWith('HTTP/1.1 200 '))
})

test('the rest of a body that is answered already ends with its connection when it stands still', async () => {
  const { received, isClosed } = post('/public/v1/refused', 1_000)
  await eventually(async () => isClosed())
  expect(received()).toMatch(/^HTTP\/1\.1 401 /)
})
