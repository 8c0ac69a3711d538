import { connect } from 'node:net'
import type { Tally } from '../tally.ts'
import { HANG_MS } from '../until-found.ts'

type Malformed = { name: string; bytes: string | Buffer; expected: RegExp }

const HOST = 'Host: localhost'
const JSON_ERROR = /^HTTP\/1\.1 4\d\d [^\r]*\r\n[\s\S]*content-type: application\/json[\s\S]*\{"error":/i

/** Requests that no HTTP client sends. Each is answered with a status and a JSON body, or the connection is closed. */
const MALFORMED: readonly Malformed[] = [
  { name: 'no Host', bytes: 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', expected: JSON_ERROR },
  {
    name: 'a bogus Expect',
    bytes: `GET /healthz HTTP/1.1\r\n${HOST}\r\nExpect: tea\r\nConnection: close\r\n\r\n`,
    expected: JSON_ERROR,
  },
  { name: 'no request line', bytes: 'hello\r\n\r\n', expected: JSON_ERROR },
  { name: 'TLS on a plain port', bytes: Buffer.from('16030100f4010000f00303', 'hex'), expected: JSON_ERROR },
  {
    name: 'two lengths',
    bytes: `POST /public/v1/contacts HTTP/1.1\r\n${HOST}\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`,
    expected: JSON_ERROR,
  },
  {
    name: 'length and chunks',
    bytes: `POST /public/v1/contacts HTTP/1.1\r\n${HOST}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    expected: JSON_ERROR,
  },
  {
    name: 'a bad chunk',
    bytes: `POST /public/v1/webhooks/whatsapp HTTP/1.1\r\n${HOST}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
    expected: JSON_ERROR,
  },
  {
    name: 'a header of 100 kB',
    bytes: `GET /healthz HTTP/1.1\r\n${HOST}\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`,
    expected: JSON_ERROR,
  },
  {
    name: 'a NUL in a header',
    bytes: `GET /healthz HTTP/1.1\r\n${HOST}\r\nX-Nul: a\0b\r\n\r\n`,
    expected: JSON_ERROR,
  },
  {
    name: 'a request behind a bad one',
    bytes: `GET / HTTP/9.9\r\n${HOST}\r\n\r\nGET /healthz HTTP/1.1\r\n${HOST}\r\n\r\n`,
    expected: JSON_ERROR,
  },
  {
    name: 'an address of 70 kB',
    bytes: `GET /${'x'.repeat(70_000)} HTTP/1.1\r\n${HOST}\r\nConnection: close\r\n\r\n`,
    expected: JSON_ERROR,
  },
  {
    name: 'an absolute address of another host',
    bytes: 'GET http://evil.example/healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    expected: /^HTTP\/1\.1 [24]\d\d /,
  },
]

/** Sends each malformed request over a socket of its own and counts those without a proper answer. */
export async function sendMalformed(url: string, tally: Tally, timeoutMs = HANG_MS): Promise<void> {
  const { hostname, port } = new URL(url)
  for (const { name, bytes, expected } of MALFORMED) {
    tally.requests++
    const answer = await exchange(hostname, Number(port), bytes, timeoutMs)
    if (!expected.test(answer)) {
      tally.add('malformed HTTP without a proper answer', `${name}: ${JSON.stringify(answer.slice(0, 200))}`)
    }
  }
}

function exchange(host: string, port: number, bytes: string | Buffer, timeoutMs: number): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({ host, port }, () => socket.write(bytes))
    const timer = setTimeout(() => socket.destroy(), timeoutMs)
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      answer += String(chunk)
      if (/\r\n\r\n[\s\S]*\}/.test(answer)) socket.end()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(answer)
    })
  })
}
