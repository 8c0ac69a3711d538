import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { connect as connectSocket, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { createCertificate } from '../../../../test/deploy/certificate.ts'
import { eventually } from '../../../../test/service.ts'
import { startFiles } from '../../../../test/static-file-world.ts'
import { createTestFolder } from '../../../../test/temporary-folder.ts'
import type { Config } from '../../../platform/settings/config.ts'

const { closing, open } = await startFiles()

describe.each(['http', 'https'] as const)('60 sockets over %s that ask for 8 MB and never read', (scheme) => {
  test('hold little memory, are closed, and delay no other request', async () => {
    const config = scheme === 'https' ? await withTls() : {}
    const { app, asked } = await open(randomBytes(8 * 1024 * 1024), { config, bounds: { answers: { tickMs: 100 } } })
    const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
    const rss = process.memoryUsage().rss
    await Promise.all(Array.from({ length: 60 }, () => askAndNeverRead(scheme, Number(port))))
    await eventually(async () => asked() === 60, 120_000)
    expect(process.memoryUsage().rss - rss).toBeLessThan(100 * 1024 * 1024)
    for (let call = 0; call < 20; call += 1) {
      expect((await app.inject({ url: '/small' })).statusCode).toBe(200)
    }
    await eventually(async () => (await connectionsOf(app)) === 0, 120_000)
    expect((await app.inject({ url: '/file' })).statusCode).toBe(200)
  }, 600_000)
})

const connectionsOf = (app: FastifyInstance): Promise<number> =>
  new Promise((resolve, reject) =>
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

async function withTls(): Promise<Partial<Config>> {
  const folder = await createTestFolder()
  const { cert, key } = createCertificate()
  const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  await Promise.all([writeFile(tls.certFile, cert), writeFile(tls.keyFile, key)])
  return { tls }
}

/** A connection that has sent its request and is paused: the kernel's buffers fill up, then the server's. */
function askAndNeverRead(scheme: 'http' | 'https', port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const at = { port, host: '127.0.0.1' }
    const socket: Socket = scheme === 'https' ? connectTls({ ...at, rejectUnauthorized: false }) : connectSocket(at)
    closing.push(() => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.once('error', reject)
    socket.once(scheme === 'https' ? 'secureConnect' : 'connect', () => {
      socket.pause().write('GET /file HTTP/1.1\r\nHost: a\r\n\r\n', () => resolve(socket))
    })
  })
}
