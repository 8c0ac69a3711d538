import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connect as connectTls, TLSSocket } from 'node:tls'
import { atFileEnd } from '../file-end.ts'

/**
 * Stands between a client and a PostgreSQL server as an attacker does: it ends the client's TLS with a certificate of its own, and
 * has TLS of its own with the server. Returns its port on 127.0.0.1.
 */
export async function startTlsRelay(serverPort: number, certificate: { cert: string; key: string }): Promise<number> {
  const sockets = new Set<Socket>()
  const keep = <Kept extends Socket>(socket: Kept): Kept => {
    sockets.add(socket.on('error', () => {}))
    return socket
  }
  const relay = createServer((client) => {
    const server = keep(connect(serverPort, '127.0.0.1'))
    // The client's request for TLS and the one byte of its answer: both sides wait then.
    keep(client).once('data', (request) => server.write(request))
    server.once('data', (answer) => {
      client.write(answer)
      const inside = keep(new TLSSocket(client, { isServer: true, ...certificate }))
      const outside = keep(connectTls({ socket: server, rejectUnauthorized: false }))
      inside.pipe(outside).pipe(inside)
    })
  })
  atFileEnd(() => {
    for (const socket of sockets) socket.destroy()
    relay.close()
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  return (relay.address() as AddressInfo).port
}
