import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startTestService } from '../service.ts'
import { has } from './deploy-files.ts'
import { BEHIND_NGINX, startNginx } from './nginx.ts'

/** How long a connection without a further byte is taken for one without a further answer. */
const QUIET_MS = 150
const PATIENCE_MS = 90_000
const HIDDEN = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Rest: '
/** Only Parley answers with it, and only to a request that did not pass the proxy. */
const METRICS = 'process_cpu_seconds_total'
const CHUNKS = `${chunk('x')}0\r\n\r\n`

type Framing = {
  name: string
  /** After the request line and Host. */
  rest: string
  /** Both see the second request, as a second request. */
  isPipelined?: true
}

const lengthOf = (text: string) => `Content-Length: ${text.length}\r\n`
function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`
}
const SECOND = `${HIDDEN}x\r\n\r\n`
/** A body whose end depends on the header that is believed. */
const ENDED = `0\r\n\r\n${SECOND}`
const obscured = (header: string) => `${lengthOf(ENDED)}${header}\r\n\r\n${ENDED}`
const unlike = (header: string) => `${header}\r\n\r\n${SECOND}`

const FRAMINGS: readonly Framing[] = [
  { name: 'no body', rest: `\r\n${SECOND}`, isPipelined: true },
  { name: 'a length of 0', rest: `Content-Length: 0\r\n\r\n${SECOND}`, isPipelined: true },
  { name: 'ended chunks', rest: `Transfer-Encoding: chunked\r\n\r\n${CHUNKS}${SECOND}`, isPipelined: true },
  { name: 'length and chunks', rest: obscured('Transfer-Encoding: chunked') },
  {
    name: 'chunks and a short length',
    rest: `Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(SECOND)}0\r\n\r\n`,
  },
  { name: 'a blank before the colon', rest: obscured('Transfer-Encoding : chunked') },
  { name: 'an unknown coding', rest: obscured('Transfer-Encoding: xchunked') },
  { name: 'a coding in quotes', rest: obscured('Transfer-Encoding: "chunked"') },
  { name: 'a tab and capitals', rest: obscured('TRANSFER-ENCODING:\tCHUNKED') },
  { name: 'a vertical tab', rest: obscured('Transfer-Encoding:\x0bchunked') },
  { name: 'a folded header', rest: obscured('X-Fold: y\r\n Transfer-Encoding: chunked') },
  { name: 'a bare line feed', rest: obscured('X-Line: y\nTransfer-Encoding: chunked') },
  { name: 'a bare carriage return', rest: obscured('X-Line: y\rTransfer-Encoding: chunked') },
  { name: 'two codings', rest: obscured('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity') },
  { name: 'a header named by Connection', rest: `Connection: Content-Length\r\n${lengthOf(SECOND)}\r\n${SECOND}` },
  { name: 'two lengths', rest: unlike(`Content-Length: 0\r\nContent-Length: ${SECOND.length}`) },
  { name: 'a list of lengths', rest: unlike(`Content-Length: 0, ${SECOND.length}`) },
  { name: 'a signed length', rest: unlike('Content-Length: +0') },
  { name: 'a hexadecimal length', rest: unlike('Content-Length: 0x0') },
  {
    name: 'a chunk of more than 64 bits',
    rest: `Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n0\r\n\r\n${SECOND}`,
  },
  { name: 'an extension with a line feed', rest: `Transfer-Encoding: chunked\r\n\r\n1;x\nxx\r\n0\r\n\r\n${SECOND}` },
]
const STARTS = ['POST /public/v1/webhooks/whatsapp', 'POST /public/v1/contacts', 'GET /healthz']
const CASES = STARTS.flatMap((start) =>
  FRAMINGS.map(({ name, rest, isPipelined = false }) => ({
    name: `${start}, ${name}`,
    bytes: `${start} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${rest}`,
    isPipelined,
  })),
)

const { url, createCompany } = await startTestService({
  config: { trustProxy: [BEHIND_NGINX.TRUST_PROXY], plainHttp: 'loopback' },
})
const { key } = await createCompany({ isConnected: false })

/** Sends bytes. Returns the answers until the awaited text, or until the connection is quiet or closed. */
async function exchange(address: string, bytes: string, awaited?: string): Promise<string> {
  const { hostname, port } = new URL(address)
  const socket = connect({ host: hostname, port: Number(port) }).setEncoding('latin1')
  await once(socket, 'connect')
  let answer = ''
  const { promise, resolve } = Promise.withResolvers<void>()
  const quiet = setTimeout(resolve, awaited === undefined ? QUIET_MS : PATIENCE_MS)
  socket.on('data', (text) => {
    answer += text
    if (awaited === undefined) quiet.refresh()
    else if (answer.includes(awaited)) resolve()
  })
  socket.on('error', () => {}).once('close', () => resolve())
  socket.write(bytes, 'latin1')
  await promise
  clearTimeout(quiet)
  socket.destroy()
  return answer
}

test('of 63 requests that readers end at different places, Parley answers a second one only where all agree', async () => {
  const answers = await Promise.all(
    CASES.map(({ bytes, isPipelined }) => exchange(url, bytes, isPipelined ? METRICS : undefined)),
  )
  const seen = CASES.filter((_, at) => answers[at]?.includes(METRICS)).map(({ name }) => name)
  expect(CASES).toHaveLength(63)
  expect(seen).toEqual(CASES.filter(({ isPipelined }) => isPipelined).map(({ name }) => name))
})

test.skipIf(!has('nginx'))('through nginx none of them hides a request, and others get their own answers', async () => {
  const nginx = await startNginx([url])
  try {
    for (const [at, { name, bytes }] of CASES.entries()) {
      expect(await exchange(nginx.address, bytes), name).not.toContain(METRICS)
      // Over the connections to Parley that the attack used.
      for (const email of [`first${at}@example.com`, `second${at}@example.com`]) {
        const headers = { authorization: `Bearer ${key.token}`, 'content-type': 'application/json' }
        const body = JSON.stringify({ email })
        const answer = await fetch(`${nginx.address}/public/v1/contacts`, { method: 'POST', headers, body })
        expect([name, await answer.json()]).toEqual([
          name,
          expect.objectContaining({ data: [expect.objectContaining({ email })] }),
        ])
      }
    }
  } finally {
    await nginx.stop()
  }
})
