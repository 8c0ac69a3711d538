import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { fixedClock } from '../../src/platform/clock.ts'
import { startTestService } from '../service.ts'

const PATHS: [method: string, path: string, replacement: string][] = [
  ['POST', '/api/transactionals', '/public/v1/templates/email/send'],
  ['GET', '/api/transactionals', '/public/v1/templates/email'],
  ['POST', '/api/transactionals/whatsapp/send', '/public/v1/templates/whatsapp/send'],
  ['GET', '/api/transactionals/whatsapp/templates', '/public/v1/templates/whatsapp'],
  ['POST', '/api/contacts', '/public/v1/contacts'],
]

const clock = fixedClock('2026-11-21T12:00:00Z')
const service = await startTestService({ mirrors: true, clock })
const { createCompany, url } = service

/** A request with a host name, a method and bytes of one's own. */
function raw(method: string, path: string, headers: Record<string, string> = {}, body?: string, base = url) {
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const asked = httpRequest(`${base}${path}`, { method, headers }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

describe('from the removal date on, which is today’s default', () => {
  test.each(PATHS)('%s %s is 410 and names its replacement', async (method, path, replacement) => {
    const { key } = await createCompany({ isConnected: false })
    for (const headers of [{}, { authorization: `Bearer ${key.token}` }, { authorization: 'Bearer wrong' }]) {
      const answer = await raw(method, path, headers)
      expect(answer.status).toBe(410)
      expect(JSON.parse(answer.text)).toEqual({
        error: { code: 'gone', message: expect.stringContaining(replacement), details: { replacement } },
      })
      expect(answer.headers).toMatchObject({
        'x-ratelimit-limit': expect.any(String),
        'x-ratelimit-remaining': expect.any(String),
        'x-ratelimit-reset': expect.any(String),
        'x-request-id': expect.any(String),
        sunset: 'Mon, 01 Jun 2026 00:00:00 GMT',
        link: `<${replacement}>; rel="successor-version"`,
      })
    }
  })

  test.each([
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
    'SEARCH',
  ])('%s of anything below /api/ is 410', async (method) => {
    for (const path of [
      '/api/transactionals',
      '/api/transactionals/',
      '/api/never/was',
      '/api/',
      '/%61pi/contacts',
      '/api/contacts?x=1',
    ]) {
      expect([path, (await raw(method, path)).status]).toEqual([path, 410])
    }
  })

  test('whatever the body', async () => {
    for (const contentType of ['application/json', 'text/xml', 'multipart/form-data']) {
      expect((await raw('POST', '/api/transactionals', { 'content-type': contentType }, '{broken')).status).toBe(410)
    }
  })

  test('an address that only begins alike is another one', async () => {
    for (const path of ['/api', '/apis/x', '/public/v1/api/contacts']) expect((await raw('GET', path)).status).toBe(404)
  })
})

describe('with LEGACY_HOST', () => {
  const apart = startTestService({
    mirrors: true,
    clock: fixedClock('2026-01-01T00:00:00Z'),
    config: { legacyHost: 'legacy.example' },
  })

  test('each host name serves its own', async () => {
    const { createCompany, url } = await apart
    const { key } = await createCompany({ isConnected: false })
    const ask = (host: string, path: string) =>
      raw('GET', path, { host, authorization: `Bearer ${key.token}` }, undefined, url)
    for (const host of ['legacy.example', 'LEGACY.example:443', 'legacy.example.']) {
      expect((await ask(host, '/api/transactionals')).status).toBe(200)
      for (const path of [
        '/public/v1/templates/email',
        '/public/v1/contacts',
        '/public/v1/o/x',
        '/public/v1/webhooks/whatsapp',
      ]) {
        expect([path, (await ask(host, path)).status]).toEqual([path, 404])
      }
    }
    const other = await ask('api.example', '/api/transactionals')
    expect([other.status, JSON.parse(other.text).error.code]).toEqual([404, 'not_found'])
    expect(other.headers).toHaveProperty('x-ratelimit-limit')
    expect((await ask('api.example', '/public/v1/templates/email')).status).toBe(200)
    expect((await ask('legacy.example', '/healthz')).status).toBe(200)
  })
})
