/**
 * The receiver of the benchmarks forward, receivers and schedule: `node bench/receiver.ts`. Takes deliveries on every path but
 * those below `/never`, which it never answers, `/fail`, which it answers with 500, and `/break`, whose connections it closes;
 * `/other` is answered like the rest and counted apart. `GET /report` answers what came since the last `GET /reset`, and
 * `GET /release` closes the connections that were never answered. A wamid `wamid.T<ms since 1970>-…` says when its event was
 * posted.
 */
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { quantileOf } from './average.ts'

/** `others`: requests on the paths that are not counted. */
export type ReceiverReport = { count: number; lastAtMs: number; p50Ms: number; p99Ms: number; others: number }

let [count, lastAtMs, others] = [0, 0, 0]
let delays: number[] = []
const unanswered = new Set<Socket>()

const server = createServer({ keepAliveTimeout: 600_000, noDelay: true }, (request, response) => {
  if (request.url === '/report') {
    const [p50Ms = 0, p99Ms = 0] = [0.5, 0.99].map((share) => quantileOf(delays, share))
    response.end(JSON.stringify({ count, lastAtMs, p50Ms, p99Ms, others } satisfies ReceiverReport))
    return
  }
  if (request.url === '/reset') {
    ;[count, lastAtMs, others, delays] = [0, 0, 0, []]
    response.end()
    return
  }
  if (request.url === '/release') {
    for (const socket of unanswered) socket.destroy()
    response.end()
    return
  }
  if (/^\/(never|break|fail|other)/.test(request.url ?? '')) others += 1
  if (request.url?.startsWith('/never')) return hold(request.socket)
  if (request.url?.startsWith('/break')) return void request.socket.destroy()
  if (request.url?.startsWith('/fail')) {
    request.resume().on('end', () => response.writeHead(500, { 'content-length': 0 }).end())
    return
  }
  if (request.url?.startsWith('/other')) {
    request.resume().on('end', () => response.writeHead(200, { 'content-length': 0 }).end())
    return
  }
  request.resume().on('end', () => {
    lastAtMs = performance.timeOrigin + performance.now()
    count += 1
    const postedAt = /^wamid\.T([0-9.]+)-/.exec(String(request.headers['x-service-delivery']))?.[1]
    if (postedAt !== undefined) delays.push(lastAtMs - Number(postedAt))
    response.writeHead(200, ['content-type', 'text/plain', 'content-length', '2'])
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

function hold(socket: Socket): void {
  unanswered.add(socket)
  socket.once('close', () => unanswered.delete(socket))
}
