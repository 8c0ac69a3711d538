import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startTestService } from '../service.ts'

const { url } = await startTestService()

test('a head that never ends is answered 408 with a code', async () => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n')
  const [head, body] = (await text(socket)).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 408 /)
  expect(head).toMatch(/^x-error-code: request_timeout$/im)
  expect(JSON.parse(body ?? '')).toMatchObject({ error: { code: 'request_timeout' } })
})
