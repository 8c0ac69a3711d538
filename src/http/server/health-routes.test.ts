import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { createTestApi } from '../../../test/api.ts'
import { codeOf, mailHealth, OPEN, startHttps } from '../../../test/https-world.ts'
import { createMetrics } from '../../platform/telemetry/metrics.ts'
import { healthRoutes } from './health-routes.ts'

const { db, opened, open } = await startHttps()

describe('/metrics', () => {
  const read = async (app: FastifyInstance, remoteAddress: string, headers: Record<string, string> = {}) => {
    const reply = await app.inject({ url: '/metrics', remoteAddress, headers })
    return [remoteAddress, reply.statusCode, reply.statusCode === 200 ? undefined : codeOf(reply.json())]
  }

  test('are read by loopback and private peers, and through no proxy', async () => {
    const app = await open({ trustProxy: ['10.0.0.0/8'] })
    for (const peer of ['127.0.0.1', '::1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '::ffff:10.0.0.1', 'fd00::1']) {
      expect(await read(app, peer)).toEqual([peer, 200, undefined])
      for (const name of ['forwarded', 'x-forwarded-for', 'x-forwarded-proto']) {
        expect(await read(app, peer, { [name]: 'https' })).toEqual([peer, 403, 'forbidden'])
      }
    }
    for (const peer of ['203.0.113.9', '172.32.0.1', '2001:db8::1']) {
      expect(await read(app, peer)).toEqual([peer, 403, 'forbidden'])
    }
  })

  test('are refused under a name that a page of another site may have', async () => {
    const app = await open({ baseUrl: 'https://parley.example' })
    for (const host of ['127.0.0.1:3000', '10.1.2.3', '[::1]:3000', 'localhost:3000', 'parley.example']) {
      expect([host, ...(await read(app, '127.0.0.1', { host }))]).toEqual([host, '127.0.0.1', 200, undefined])
    }
    for (const host of [
      'evil.example',
      'evil.example:3000',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'a@[::1]',
    ]) {
      expect([host, ...(await read(app, '127.0.0.1', { host }))]).toEqual([host, '127.0.0.1', 403, 'forbidden'])
    }
  })

  test('require METRICS_TOKEN from everyone when it is set', async () => {
    const token = 'metrics-token-for-tests'
    const app = await open({ metricsToken: token })
    for (const peer of ['127.0.0.1', '10.1.2.3', '203.0.113.9']) {
      expect(await read(app, peer)).toEqual([peer, 401, 'unauthorized'])
      expect(await read(app, peer, { authorization: 'Bearer another' })).toEqual([peer, 401, 'unauthorized'])
      expect(await read(app, peer, { authorization: `Bearer ${token}` })).toEqual([peer, 200, undefined])
    }
  })
})

describe('the details of /readyz', () => {
  const read = async (app: FastifyInstance, remoteAddress: string, headers: Record<string, string> = {}) => {
    const reply = await app.inject({ url: '/readyz', remoteAddress, headers })
    return [reply.statusCode, reply.json()]
  }
  const bare = { status: 'ok' }
  const detailed = { status: 'ok', details: { mail: mailHealth.details() } }

  test('are not shown under a name that a page of another site may have', async () => {
    const app = await open({ plainHttp: 'reject' })
    expect(await read(app, '127.0.0.1', { host: 'evil.example' })).toEqual([200, bare])
  })

  test('are shown to loopback and private peers, and through no proxy', async () => {
    const app = await open({ plainHttp: 'reject' })
    for (const peer of ['127.0.0.1', '10.1.2.3']) {
      expect(await read(app, peer)).toEqual([200, detailed])
      expect(await read(app, peer, { 'x-forwarded-for': '203.0.113.9' })).toEqual([200, bare])
    }
    expect(await read(app, '203.0.113.9')).toEqual([200, bare])
  })

  test('require METRICS_TOKEN when it is set', async () => {
    const token = 'metrics-token-for-tests'
    const app = await open({ metricsToken: token })
    expect(await read(app, '127.0.0.1')).toEqual([200, bare])
    expect(await read(app, '203.0.113.9', { authorization: `Bearer ${token}` })).toEqual([200, detailed])
  })
})

test('/readyz answers 503 while the database does not', async () => {
  const { connect } = await import('../../db/connect.ts')
  const away = connect('postgres://nobody@127.0.0.1:1/nothing', { max: 1 })
  const { app } = await createTestApi({
    db,
    routes: async (app) => {
      await app.register(healthRoutes({ config: OPEN, db: away, metrics: createMetrics(), mailHealth }))
    },
  })
  opened.push(app)
  const reply = await app.inject({ url: '/readyz' })
  expect([reply.statusCode, reply.json().error.code]).toEqual([503, 'service_unavailable'])
  expect((await app.inject({ url: '/healthz' })).statusCode).toBe(200)
  await away.end({ timeout: 0 })
})
