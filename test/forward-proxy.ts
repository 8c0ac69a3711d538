import { createServer, request as forward } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { atFileEnd } from './file-end.ts'

export type ForwardProxy = {
  url: string
  /** What passed, such as `CONNECT provider.test:443` or `GET http://provider.test/path`. */
  passed: string[]
  authorizations: (string | undefined)[]
}

/**
 * Starts a forward proxy on loopback, with tunnels for TLS. Every name leads to the loopback address, so a test sees by the
 * name whether a call used the proxy. `refuses`: answers 403 to every tunnel.
 */
export async function startForwardProxy({ refuses = false } = {}): Promise<ForwardProxy> {
  const passed: string[] = []
  const authorizations: (string | undefined)[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    passed.push(`${request.method} ${request.url}`)
    authorizations.push(request.headers['proxy-authorization'])
    const { port, pathname, search } = new URL(request.url ?? '')
    const { 'proxy-authorization': _, ...headers } = request.headers
    const onward = forward({ port, path: pathname + search, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.writeHead(502).end())
    request.pipe(onward)
  })
  server.on('connect', (request, client: Socket) => {
    passed.push(`CONNECT ${request.url}`)
    authorizations.push(request.headers['proxy-authorization'])
    client.on('error', () => client.destroy())
    if (refuses) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    const target = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(target).pipe(client)
    })
    target.on('error', () => client.destroy())
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atFileEnd(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, passed, authorizations }
}
