import { once } from 'node:events'
import { createServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { createCertificate } from './deploy/certificate.ts'
import { atFileEnd } from './file-end.ts'

export type Door = {
  port: number
  /** Connections that are open now. */
  open: Set<Socket>
  /** Passes on all bytes, of the connections so far and of later ones. */
  release: () => void
}

/** Accepts connections for a server on loopback, and passes nothing on until `release` is called. */
export async function startDoor(serverPort: number): Promise<Door> {
  const open = new Set<Socket>()
  const held: Socket[] = []
  let isReleased = false
  const join = (from: Socket) => {
    const to = connect(serverPort, '127.0.0.1').on('error', () => from.destroy())
    from.on('close', () => to.destroy())
    from.pipe(to).pipe(from)
  }
  const door = createTcpServer((socket) => {
    open.add(socket.on('error', () => undefined).on('close', () => open.delete(socket)))
    if (isReleased) join(socket)
    else held.push(socket)
  })
  await once(door.listen(0, '127.0.0.1'), 'listening')
  atFileEnd(async () => {
    for (const socket of open) socket.destroy()
    door.close()
  })
  return {
    port: (door.address() as AddressInfo).port,
    open,
    release: () => {
      isReleased = true
      for (const socket of held.splice(0)) join(socket)
    },
  }
}

/** An HTTPS server that holds every TLS handshake until `release` is called, then answers each request with 200. */
export async function startHeldServer() {
  const { cert, key } = createCertificate()
  /** The paths of all requests that arrived. */
  const paths: string[] = []
  const server = createServer({ cert, key }, (request, response) => {
    paths.push(request.url ?? '')
    request.resume().on('end', () => response.end('{}'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atFileEnd(async () => {
    server.closeAllConnections()
    server.close()
  })
  const { port, release } = await startDoor((server.address() as AddressInfo).port)
  return { url: `https://localhost:${port}`, cert, paths, release }
}

/** Stops this process for some time, as a SIGSTOP does: timers fire late, and the system connects sockets meanwhile. */
export const stopProcess = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
