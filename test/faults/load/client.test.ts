import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { freePort } from '../../free-port.ts'
import { createRandom } from '../random.ts'
import { ask, strangeAnswers } from './client.ts'

/** Plays a process of the service: the path says how it answers. */
const server = createServer((request, response) => {
  if (request.url === '/reset') {
    request.socket.destroy()
    return
  }
  const [, status = '200', retryAfter] = request.url?.split('/') ?? []
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  response.writeHead(Number(status), headers).end('{"error":"Failed to send the message"}')
}).listen(0, '127.0.0.1')
afterAll(() => server.close())
beforeEach(() => {
  strangeAnswers.length = 0
})

const post = (path: string, address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`) =>
  ask([address], createRandom(1), path, '{}')

test.each(['/500', '/503', '/404', '/reset'])('an upgrade counts the answer %s', async (path) => {
  await post(path)
  expect(strangeAnswers).toHaveLength(1)
  expect(strangeAnswers[0]).toContain(`POST ${path}: `)
})

test.each(['/200', '/202', '/503/1'])('an upgrade does not count the answer %s', async (path) => {
  await post(path)
  expect(strangeAnswers).toEqual([])
})

test('an upgrade does not count a process that is not there', async () => {
  expect((await post('/200', `http://127.0.0.1:${await freePort()}`)).status).toBe(0)
  expect(strangeAnswers).toEqual([])
})
