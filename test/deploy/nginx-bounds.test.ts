import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { KEEP_ALIVE_TIMEOUT_MS } from '../../src/http/server/listener.ts'
import { eventually } from '../service.ts'
import { has, read } from './deploy-files.ts'
import { type FrontOptions, startNginx } from './nginx.ts'

const MIB = 1024 * 1024
/** nginx's timeouts in the test of slow uploads, and how much longer one takes. */
const TIMEOUT_SECONDS = 5
const UPLOAD_MS = 2.4 * TIMEOUT_SECONDS * 1_000

describe.skipIf(!has('nginx'))('deploy/nginx.conf', () => {
  test('lets an upload take longer than each of its timeouts', { timeout: 120_000 }, async () => {
    let received = 0
    const { post } = await behindNginx(
      async (message, response) => {
        for await (const chunk of message) received += chunk.length
        response.end('taken')
      },
      {
        change: (conf) => {
          expect(conf.match(/proxy_(read|send)_timeout 75s;/g)).toHaveLength(2)
          return conf
            .replaceAll(/_timeout (75|15)s;/g, `_timeout ${TIMEOUT_SECONDS}s;`)
            .replace('client_max_body_size', `client_body_timeout ${TIMEOUT_SECONDS}s;\n    client_max_body_size`)
        },
      },
    )
    const call = post()
    const answered = once(call, 'response')
    let sent = 0
    for (const startedAt = performance.now(); performance.now() - startedAt < UPLOAD_MS; await sleep(100)) {
      call.write('x')
      sent += 1
    }
    call.end()
    const [answer]: IncomingMessage[] = await answered
    expect([answer?.statusCode, received]).toEqual([200, sent])
  })

  test('passes the bytes of an upload on as they come, and an answer before its end', async () => {
    let received = ''
    const { post } = await behindNginx((message, response) => {
      message.on('data', (chunk) => {
        received += chunk
        if (received === 'first, second') response.writeHead(413).end()
      })
    })
    const call = post()
    const answered = once(call, 'response')
    call.write('first')
    await eventually(async () => received === 'first')
    call.write(', second')
    const [answer]: IncomingMessage[] = await answered
    expect(answer?.statusCode).toBe(413)
  })

  test('takes no more of an unread answer than its buffers hold', { timeout: 60_000 }, async () => {
    let taken = 0
    const { post } = await behindNginx((_, response) => {
      const write = () => {
        while (taken < 256) {
          taken += 1
          if (!response.write(Buffer.alloc(MIB))) return void response.once('drain', write)
        }
        response.end()
      }
      write()
    })
    const call = post()
    call.end()
    const [answer]: IncomingMessage[] = await once(call, 'response')
    answer?.pause()
    for (let before = -1; before < taken && taken < 256; await sleep(2_000)) before = taken
    // The rest is in the buffers of the sockets.
    expect(taken).toBeLessThan(64)
  })

  test('refuses requests of an address that has too many in flight, and of no other', async () => {
    let arrived = 0
    const { post } = await behindNginx(
      (message, response) => {
        arrived += 1
        if (message.headers['x-hold'] === undefined) response.end()
      },
      {
        change: (conf) => {
          expect(conf).toContain('limit_conn parley 500;')
          return conf.replace('limit_conn parley 500;', 'limit_conn parley 3;')
        },
      },
    )
    for (let n = 0; n < 3; n += 1) post({ 'x-hold': 'yes' }).write('x')
    await eventually(async () => arrived === 3)
    const refused = post()
    refused.end()
    const [answer]: IncomingMessage[] = await once(refused, 'response')
    expect([answer?.statusCode, answer?.headers['retry-after']]).toEqual([429, '1'])
    let text = ''
    for await (const chunk of answer ?? []) text += chunk
    expect(JSON.parse(text).error).toMatchObject({ code: 'rate_limit_exceeded', retry_after: 1 })
    const other = post({}, '127.0.0.2')
    other.end()
    const [served]: IncomingMessage[] = await once(other, 'response')
    expect(served?.statusCode).toBe(200)
  })
})

test('the shipped proxies drop an idle connection before Parley does', () => {
  const settings = [
    /keepalive_timeout (\d+)s;/.exec(read('deploy/nginx.conf')),
    /keepalive (\d+)s\n/.exec(read('deploy/Caddyfile')),
  ]
  for (const found of settings) expect(1_000 * Number(found?.[1])).toBeLessThan(KEEP_ALIVE_TIMEOUT_MS)
})

/** Starts nginx in front of a server. The requests of `post` end with the test. */
async function behindNginx(listener: RequestListener, options: FrontOptions = {}) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  const address = server.address()
  const nginx = await startNginx([`http://127.0.0.1:${Object(address).port}`], options)
  onTestFinished(nginx.stop)
  const post = (headers: Record<string, string> = {}, localAddress = '127.0.0.1') => {
    const call = request(nginx.address, { method: 'POST', agent: false, headers, localAddress })
    call.on('error', () => {
      // The test ends it.
    })
    onTestFinished(() => void call.destroy())
    return call
  }
  return { post }
}
