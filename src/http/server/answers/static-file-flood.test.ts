import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { connect as connectSocket, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { createTestApi } from '../../../../test/api.ts'
import { createTestDatabase } from '../../../../test/database.ts'
import { createCertificate } from '../../../../test/deploy/certificate.ts'
import { eventually } from '../../../../test/service.ts'
import { createTestFolder } from '../../../../test/temporary-folder.ts'
import type { Config } from '../../../platform/settings/config.ts'
import type { ServerDeps } from '../server.ts'
import { sendStaticFile, toStaticFile } from './static-file.ts'

const { db } = await createTestDatabase()
const _text = 'All work and no play. '.repeat(20_000)
const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type Options = { bounds?: ServerDeps['bounds']; config?: Partial<Config> }

async function open(content: Uint8Array, { bounds, config = {} }: Options) {
  const file = await toStaticFile('text/plain; charset=utf-8', content)
  let asked = 0
  const { app } = await createTestApi({
    db,
    config,
    ...(bounds && { bounds }),
    routes: (app) => {
      const open = { surface: 'public' } as const
      app.get('/file', { config: open }, (request, reply) => {
        asked += 1
        return sendStaticFile(request, reply, file, 'no-cache')
      })
      app.get('/small', { config: open }, async () => ({ ok: true }))
    },
  })
  closing.push(() => app.close())
  return { app, asked: () => asked }
}

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
