import { randomBytes } from 'node:crypto'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ADMIN_TOKEN } from '../test/api.ts'
import { compareAnswers } from '../test/contract/described-answers.ts'
import { createTestDatabase } from '../test/database.ts'
import { createTestFolder } from '../test/temporary-folder.ts'
import { buildApp } from './app.ts'
import { serveReference } from './http/openapi/reference.ts'
import { openFolderBlobStore } from './media/blobs/folder-blob-store.ts'
import { systemClock } from './platform/clock.ts'
import { readConfig } from './platform/settings/config.ts'
import { createCipher } from './secrets/secrets.ts'
import { createMailer } from './wiring/adapters.ts'
import { createDeps } from './wiring/deps.ts'

const { db } = await createTestDatabase()
let app: FastifyInstance

beforeAll(async () => {
  const key = randomBytes(32).toString('base64')
  const config = readConfig({
    ADMIN_TOKEN,
    BASE_URL: 'https://api.example',
    PLAIN_HTTP: 'loopback',
    ENCRYPTION_KEY: key,
  })
  const log = pino({ level: 'silent' })
  const blobStore = await openFolderBlobStore(await createTestFolder())
  app = await buildApp(
    createDeps({
      config,
      db,
      workerDb: db,
      log,
      clock: systemClock,
      cipher: createCipher([key]),
      providers: {},
      mailer: createMailer(config),
      blobStore,
    }),
  )
  compareAnswers(app)
  await app.ready()
})
afterAll(() => app.close())

describe('the API reference', () => {
  test('is an OpenAPI 3.1 document that needs no key', async () => {
    const reply = await app.inject({ url: '/openapi.json' })
    expect(reply.statusCode).toBe(200)
    expect(reply.headers['x-ratelimit-limit']).toBeUndefined()
    expect(reply.json()).toMatchObject({
      openapi: '3.1.0',
      servers: [{ url: 'https://api.example' }],
      components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
    })
  })

  test('is read on a page that asks no other host for anything', async () => {
    const moved = await app.inject({ url: '/docs' })
    expect([moved.statusCode, moved.headers.location]).toEqual([301, '/docs/'])
    const page = await app.inject({ url: '/docs/' })
    expect(page.statusCode).toBe(200)
    expect(page.headers['content-security-policy']).toContain("default-src 'none'")
    expect(page.headers['content-security-policy']).not.toMatch(/https?:/)
    expect(page.body).not.toMatch(/https?:\/\//)
    const script = await app.inject({ url: '/docs/js/scalar.js' })
    expect([script.statusCode, script.headers['content-type']]).toEqual([200, expect.stringContaining('javascript')])
  })

  test('has the demo key for hosts that no other site can name', async () => {
    const demo = Fastify()
    await demo.register(swagger)
    serveReference(demo, { findDemoToken: async () => 'the-demo-key', baseUrl: 'https://parley.example' })
    onTestFinished(() => demo.close())
    const shows = async (headers: Record<string, string>) =>
      (await demo.inject({ url: '/docs/', headers })).body.includes('the-demo-key')
    for (const host of ['localhost:3000', '127.0.0.1:3000', '[::1]:3000', 'parley.example', 'parley.example:443'])
      expect([host, await shows({ host })]).toEqual([host, true])
    for (const host of [
      'evil.example',
      'evil.example:3000',
      'localhost.evil.example',
      'x@localhost',
      'parley.example.',
    ])
      expect([host, await shows({ host })]).toEqual([host, false])
    expect(await shows({ host: 'localhost', 'x-forwarded-host': 'evil.example' })).toBe(false)
  })

  test('is compressed and kept by browsers: its script for ever, its page and document until they change', async () => {
    const { body } = await app.inject({ url: '/docs/' })
    const script = `/docs/${/src="([^"]+)"/.exec(body)?.[1]}`
    for (const [url, cacheControl] of [
      ['/openapi.json', 'no-cache'],
      ['/docs/', 'no-cache'],
      ['/docs/js/scalar.js', 'no-cache'],
      ['/docs/js/scalar.js?v=another', 'no-cache'],
      [script, 'public, max-age=31536000, immutable'],
    ] as const) {
      const reply = await app.inject({ url, headers: { 'accept-encoding': 'gzip, br' } })
      expect([url, reply.statusCode, reply.headers['content-encoding'], reply.headers['cache-control']]).toEqual([
        url,
        200,
        'br',
        cacheControl,
      ])
      const again = await app.inject({
        url,
        headers: { 'accept-encoding': 'gzip, br', 'if-none-match': String(reply.headers.etag) },
      })
      expect([url, again.statusCode, again.rawPayload.length]).toEqual([url, 304, 0])
    }
  })

  test('answers 404 not_found to unknown paths, as everywhere', async () => {
    for (const url of ['/docs/nothing', '/docs/js/other.js', '/docs/%2e%2e/package.json']) {
      const reply = await app.inject({ url })
      expect([url, reply.statusCode, reply.json()]).toEqual([
        url,
        404,
        { error: { code: 'not_found', message: 'There is nothing at this address' } },
      ])
    }
  })

  test('follows the HTTPS rule', async () => {
    for (const url of ['/openapi.json', '/docs/', '/docs/js/scalar.js']) {
      expect((await app.inject({ url, remoteAddress: '203.0.113.9' })).statusCode).toBe(403)
    }
  })
})
