/**
 * The receiver of the benchmarks: `node bench/receiver.ts`. It answers 200, below `/fail` 500, below `/never` nothing, and below
 * `/break` it closes the connection; what comes below these is counted apart. `GET /report` answers what came
 * since the last `GET /reset`; `GET /release` closes the connections that are never answered. A delivery id
 * `wamid.T<ms since 1970>-…` says when its event was due.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { quantileOf } from './average.ts'

/** `others`: requests on the paths that are counted apart. */
export type ReceiverReport = { received: number; lastAtMs: number; p50Ms: number; p99Ms: number; others: number }

let [received, lastAtMs, others] = [0, 0, 0]
let delays: number[] = []
const unanswered = new Set<Socket>()

const COMMANDS: Record<string, () => unknown> = {
  '/report': () => {
    const [p50Ms = 0, p99Ms = 0] = [0.5, 0.99].map((share) => quantileOf(delays, share))
    return { received, lastAtMs, p50Ms, p99Ms, others } satisfies ReceiverReport
  },
  '/reset': () => {
    ;[received, lastAtMs, others, delays] = [0, 0, 0, []]
  },
  '/release': () => {
    for (const socket of unanswered) socket.destroy()
  },
}

const server = createServer({ keepAliveTimeout: 600_000, noDelay: true }, (request, response) => {
  const { url = '', socket } = request
  const command = COMMANDS[url]
  if (command) return response.end(JSON.stringify(command() ?? {}))
  const isOther = /^\/(never|break|fail)/.test(url)
  if (isOther) others += 1
  if (url.startsWith('/break')) return socket.destroy()
  if (url.startsWith('/never')) return unanswered.add(socket.once('close', () => unanswered.delete(socket)))
  return request.resume().on('end', () => {
    if (!isOther) take(request)
    response.writeHead(url.startsWith('/fail') ? 500 : 200, ['content-type', 'text/plain', 'content-length', '2'])
    response.end('ok')
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') {
    console.log(JSON.stringify({ url: `http://127.0.0.1:${address.port}` }))
  }
})
process.on('SIGTERM', () => process.exit(0))

function take({ headers }: IncomingMessage): void {
  lastAtMs = performance.timeOrigin + performance.now()
  received += 1
  const dueAt = /^wamid\.T([0-9.]+)-/.exec(String(headers['x-service-delivery']))?.[1]
  if (dueAt !== undefined) delays.push(lastAtMs - Number(dueAt))
}
