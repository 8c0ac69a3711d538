/**
 * The receiver of the benchmarks forward, receivers and schedule: `node bench/receiver.ts`. Takes deliveries on every path but
 * those below `/never`, which it never answers, `/fail`, which it answers with 500, and `/break`, whose connections it closes.
 * `GET /report` answers what came since the last `POST /reset`. A wamid `wamid.T<ms since 1970>-…` says when its event was
 * posted.
 */
import { createServer } from 'node:http'

export type ReceiverReport = {
  count: number
  /** From the first to the last, in seconds. */
  seconds: number
  lastAtMs: number
  p50Ms: number
  p99Ms: number
  maxMs: number
  lastBody: string
}

const now = () => performance.timeOrigin + performance.now()
let [count, firstAt, lastAt, lastBody] = [0, 0, 0, '']
let delays: number[] = []

const server = createServer({ keepAliveTimeout: 600_000, noDelay: true }, (request, response) => {
  if (request.url === '/report') {
    response.end(JSON.stringify(report()))
    return
  }
  if (request.url === '/reset') {
    ;[count, firstAt, lastAt, lastBody, delays] = [0, 0, 0, '', []]
    response.end()
    return
  }
  if (request.url?.startsWith('/never')) return
  if (request.url?.startsWith('/break')) return void request.socket.destroy()
  if (request.url?.startsWith('/fail')) {
    request.resume().on('end', () => response.writeHead(500, { 'content-length': 0 }).end())
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    lastAt = now()
    if (count === 0) firstAt = lastAt
    count += 1
    const postedAt = /^wamid\.T([0-9.]+)-/.exec(String(request.headers['x-service-delivery']))?.[1]
    if (postedAt !== undefined) delays.push(lastAt - Number(postedAt))
    if (lastBody === '') lastBody = Buffer.concat(chunks).toString()
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

function report(): ReceiverReport {
  const sorted = delays.toSorted((a, b) => a - b)
  const quantile = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return {
    count,
    seconds: (lastAt - firstAt) / 1_000,
    lastAtMs: lastAt,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    maxMs: quantile(1),
    lastBody,
  }
}
