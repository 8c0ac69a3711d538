import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN_TOKEN } from '../test/api.ts'
import { createTestDatabase } from '../test/database.ts'
import { buildApp } from './app.ts'
import { systemClock } from './clock.ts'
import { readConfig } from './config.ts'
import { openFolderVault } from './media/folder-vault.ts'
import { createCipher } from './secrets.ts'
import { createMailer } from './wiring/adapters.ts'
import { createDeps } from './wiring/deps.ts'

const { db } = await createTestDatabase()
let app: FastifyInstance

beforeAll(async () => {
  const key = randomBytes(32).toString('base64')
  const config = readConfig({ ADMIN_TOKEN, BASE_URL: 'https://api.example', ENCRYPTION_KEY: key })
  const log = pino({ level: 'silent' })
  const vault = await openFolderVault(mkdtempSync(join(tmpdir(), 'parley-app-')), systemClock.now())
  app = await buildApp(
    createDeps({
      config,
      db,
      workerDb: db,
      log,
      clock: systemClock,
      cipher: createCipher([key]),
      providers: {},
      mailer: createMailer(),
      vault,
    }),
  )
  await app.ready()
})
afterAll(() => app.close())

describe('the API reference', () => {
  test('is an OpenAPI 3.1 document for everybody', async () => {
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

  test('obeys the HTTPS rule', async () => {
    for (const url of ['/openapi.json', '/docs/', '/docs/js/scalar.js']) {
      expect((await app.inject({ url, remoteAddress: '203.0.113.9' })).statusCode).toBe(403)
    }
  })
})
