import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { createCertificate } from '../../deploy/certificate.ts'

/** `PROVIDER_TIMEOUT_MS` of the service in a run. */
export const PROVIDER_TIMEOUT_MS = 3_000

/** TLS in front of the provider, whose handshakes can be slow. */
export type ProviderGate = {
  url: string
  /** The file of the certificate that the service must know. */
  certificate: string
  /** Closes all connections; handshakes of connections that open within `forMs` then take `handshakeMs`. */
  slowDown(handshakeMs: number, forMs: number): void
  stop(): void
}

export async function startProviderGate(provider: string, folder: string): Promise<ProviderGate> {
  const { port } = new URL(provider)
  const { cert, key } = createCertificate()
  const certificate = join(folder, 'provider.pem')
  writeFileSync(certificate, cert)
  const sockets = new Set<Socket>()
  const keep = <Kept extends Socket>(socket: Kept): Kept => {
    sockets.add(socket)
    return socket.on('error', () => {}).once('close', () => sockets.delete(socket))
  }
  let slow = { handshakeMs: 0, untilMs: 0 }
  const secure = createTlsServer({ cert, key }, (client) => {
    const server = keep(connect(Number(port), '127.0.0.1'))
    keep(client).once('close', () => server.destroy())
    server.once('close', () => client.destroy())
    client.pipe(server).pipe(client)
  })
  secure.on('tlsClientError', () => {})
  const gate = createServer({ pauseOnConnect: true }, async (socket) => {
    keep(socket)
    if (performance.now() < slow.untilMs) await sleep(slow.handshakeMs)
    if (socket.destroyed) return
    secure.emit('connection', socket)
    socket.resume()
  })
  gate.listen(0, 'localhost')
  await once(gate, 'listening')
  const closeAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `https://localhost:${(gate.address() as AddressInfo).port}`,
    certificate,
    slowDown: (handshakeMs, forMs) => {
      slow = { handshakeMs, untilMs: performance.now() + forMs }
      closeAll()
    },
    stop: () => {
      gate.close()
      closeAll()
    },
  }
}
