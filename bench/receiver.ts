/**
 * The receiver of the benchmarks: `node bench/receiver.ts`. It answers 200, below `/fail` 500, below `/never` nothing; what comes
 * below these is not counted. `GET /report` answers what came since the last `GET /reset`; `GET /release` closes the connections
 * that are never answered. A delivery id `wamid.T<ms since 1970>-…` says when its event was due.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { quantileOf } from './average.ts'

let [received, lastAtMs] = [0, 0]
let delays: number[] = []
const unanswered = new Set<Socket>()

export type ReceiverReport = ReturnType<typeof report>
const report = () => ({ received, lastAtMs, p50Ms: quantileOf(delays, 0.5), p99Ms: quantileOf(delays, 0.99) })

const COMMANDS: Record<string, () => unknown> = {
  '/report': report,
  '/reset': () => {
    ;[received, lastAtMs, delays] = [0, 0, []]
  },
  '/release': () => {
    for (const socket of unanswered) socket.destroy()
  },
}

const server = createServer({ keepAliveTimeout: 600_000, noDelay: true }, (request, response) => {
  const { url = '', socket } = request
  const command = COMMANDS[url]
  if (command) return response.end(JSON.stringify(command() ?? {}))
  if (url.startsWith('/never')) return unanswered.add(socket.once('close', () => unanswered.delete(socket)))
  const fails = url.startsWith('/fail')
  return request.resume().on('end', () => {
    if (!fails) take(request)
    response.writeHead(fails ? 500 : 200, ['content-type', 'text/plain', 'content-length', '2'])
    response.end('ok')
  })
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})
process.on('SIGTERM', () => process.exit(0))

function take({ headers }: IncomingMessage): void {
  lastAtMs = performance.timeOrigin + performance.now()
  received += 1
  const dueAt = /^wamid\.T([0-9.]+)-/.exec(String(headers['x-service-delivery']))?.[1]
  if (dueAt !== undefined) delays.push(lastAtMs - Number(dueAt))
}
