/**
 * Prints the promoted bytes per request of a server with tracked connections. Runs in its own process, because its flags matter.
 * Usage: node requests-program.ts
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { trackConnections } from '../../src/http/connections/connections.ts'
import { promotedBy } from './promoted.ts'

const REQUESTS = 20_000
const server = createServer((_request, response) => response.end('x'))
trackConnections(server)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1')

/** One after the other, with headers that a kept request would keep. */
async function ask(count: number): Promise<void> {
  const request = `GET / HTTP/1.1\r\nHost: a\r\nX-Padding: ${'x'.repeat(1_000)}\r\n\r\n`
  for (let n = 0; n < count; n += 1) {
    socket.write(request)
    await once(socket, 'data')
  }
}

await ask(5_000)
console.log((await promotedBy(() => ask(REQUESTS))) / REQUESTS)
socket.destroy()
server.close()
