import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atFileEnd } from './file-end.ts'

export type Received = { method: string; url: string; headers: IncomingHttpHeaders; rawHeaders: string[]; body: Buffer }
export type Receiver = {
  url: string
  received: Received[]
  /** Connections that are open now, and that were ever opened. */
  open: Set<Socket>
  opened: () => number
  close: () => Promise<void>
}

/** A real receiver on loopback that stores what it gets and answers as the test sets it. */
export function startReceiver(answer: RequestListener = (_, response) => response.end()): Promise<Receiver> {
  const received: Received[] = []
  return listen(createServer(keeping(received, answer)), 'http', received)
}

/** The same over TLS, with a certificate for `name` that only its own `cert` vouches for. */
export async function startTlsReceiver(
  answer: RequestListener,
  name = 'localhost',
): Promise<Receiver & { cert: string }> {
  const { key, cert } = selfSigned(name)
  const received: Received[] = []
  const receiver = await listen(createTlsServer({ key, cert }, keeping(received, answer)), 'https', received)
  return { ...receiver, cert }
}

/** A peer that speaks what it likes. */
export const startPeer = (speak: (socket: Socket) => void): Promise<Receiver> =>
  listen(
    createTcpServer((socket) => {
      socket.on('error', () => undefined)
      // A socket that is not read does not notice that the other side has gone.
      socket.resume()
      speak(socket)
    }),
    'http',
    [],
  )

function keeping(received: Received[], answer: RequestListener): RequestListener {
  return async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url = '', headers, rawHeaders } = request
    received.push({ method, url, headers, rawHeaders, body: Buffer.concat(chunks) })
    answer(request, response)
  }
}

async function listen(server: Server, scheme: string, received: Received[]): Promise<Receiver> {
  const open = new Set<Socket>()
  let opened = 0
  server.on('connection', (socket: Socket) => {
    opened += 1
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const socket of open) socket.destroy()
    })
  atFileEnd(close)
  return { url: `${scheme}://localhost:${port}/`, received, open, opened: () => opened, close }
}

function selfSigned(name: string): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-'))
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const options = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=${name}`
    execFileSync(
      'openssl',
      [...options.split(' '), '-addext', `subjectAltName=DNS:${name}`, '-keyout', key, '-out', cert],
      { stdio: 'ignore' },
    )
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
