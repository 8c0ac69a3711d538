import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { ERROR_STATUSES } from '../../src/platform/errors.ts'
import { isRecord } from '../../src/platform/text/json-text.ts'
import { ADMIN_TOKEN, createTestApi, createTestKey } from '../api.ts'
import { startTestService } from '../service.ts'
import { routesOf } from './app-routes.ts'

// Every error has `X-Error-Code`: the code of its body, and of its status.
const service = await startTestService({ config: { trustProxy: ['127.0.0.1'] } })
const company = await service.createCompany()
const statuses: Record<string, number> = ERROR_STATUSES

type Answer = { status: number; code: string | null; text: string }

/** What is wrong with the code of an answer. */
function faultOf({ status, code, text }: Answer): string | undefined {
  if (code === null) return `${status} without a code: ${text.slice(0, 100)}`
  if (statuses[code] !== status) return `${status} with ${code}`
  const body: unknown = text.startsWith('{') ? JSON.parse(text) : undefined
  const own = isRecord(body) && isRecord(body.error) ? body.error.code : undefined
  return own === undefined || own === code ? undefined : `${code} in the header, ${own} in the body`
}

type Request = { method: string; path: string; credential?: string; body?: string; type?: string }

/** Each request comes from another address, so that none is refused as one too many. */
let clients = 0

async function ask({ method, path, credential, body, type = 'application/json' }: Request): Promise<Answer> {
  const answer = await fetch(`${service.url}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      'x-forwarded-for': `2001:db8:0:${(clients++).toString(16)}::1`,
      ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
      ...(body !== undefined && { 'content-type': type }),
    },
    ...(body !== undefined && { body }),
  })
  return { status: answer.status, code: answer.headers.get('x-error-code'), text: await answer.text() }
}

const routes = routesOf(service.app).flatMap((route) => {
  const [method = '', pattern = ''] = route.split(' ')
  const path = pattern.replaceAll(/:\w+(\([^)]*\))?\??|\*/g, '987654')
  return /^(GET|POST|PUT|PATCH|DELETE)$/.test(method) ? [{ method, path, hasId: path !== pattern }] : []
})
const credentialOf = (path: string) => (path.startsWith('/admin/') ? ADMIN_TOKEN : company.key.token)
const writes = routes.filter(({ method }) => method !== 'GET' && method !== 'DELETE')

/** Requests that most routes refuse. */
const REFUSED: Record<string, Request[]> = {
  'no credential': routes,
  'a wrong key': routes.map((route) => ({ ...route, credential: `${company.key.token}x` })),
  'malformed JSON': writes.map((route) => ({ ...route, credential: credentialOf(route.path), body: '{' })),
  'an unknown Content-Type': writes.map((route) => ({
    ...route,
    credential: credentialOf(route.path),
    ...{ body: 'x', type: 'application/x-unknown' },
  })),
  'an unknown member': writes.map((route) => ({
    ...route,
    credential: credentialOf(route.path),
    body: '{"notAMember":1}',
  })),
  'an unknown id': routes
    .filter(({ hasId }) => hasId)
    .map((route) => ({ ...route, credential: credentialOf(route.path) })),
}

test.each(Object.entries(REFUSED))('%s has a code at every route that refuses it', async (_, requests) => {
  const faults: string[] = []
  let refused = 0
  for (const request of requests) {
    const answer = await ask(request)
    if (answer.status < 400) continue
    refused += 1
    const fault = faultOf(answer)
    if (fault !== undefined) faults.push(`${request.method} ${request.path}: ${fault}`)
  }
  expect(faults).toEqual([])
  expect(refused).toBeGreaterThan(requests.length / 2)
})

/** Writes bytes to a socket and reads the answer until the server closes the connection. */
function speak(...lines: string[]): Promise<Answer> {
  const { hostname, port } = new URL(service.url)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  let answer = ''
  const socket = connect(Number(port), hostname, () => socket.write(lines.join('\r\n')))
  socket
    .on('data', (bytes) => {
      answer += bytes
    })
    .on('error', reject)
    .on('close', () => {
      const [head = '', text = ''] = answer.split('\r\n\r\n')
      const [, code = null] = /^x-error-code: (.*)$/im.exec(head) ?? []
      resolve({ status: Number(head.split(' ')[1]), code, text })
    })
  return promise
}

const END = ['Connection: close', '', '']
const HEAD = ['GET /healthz HTTP/1.1', 'Host: a']
const POST = ['POST /public/v1/contacts HTTP/1.1', 'Host: a', `Authorization: Bearer ${company.key.token}`]
const JSON_BODY = 'Content-Type: application/json'

describe('before any route', () => {
  test.each<[string, string[], number]>([
    ['bytes that are not HTTP', ['what?', ...END], 400],
    ['a header that is too long', [...HEAD, `X-Long: ${'x'.repeat(20_000)}`, ...END], 400],
    ['no Host', ['GET /healthz HTTP/1.1', ...END], 400],
    ['an unreadable address', ['GET /%zz HTTP/1.1', 'Host: a', ...END], 400],
    ['an unknown route', ['GET /nothing HTTP/1.1', 'Host: a', ...END], 404],
    ['an unknown route of the API', ['GET /public/v1/nothing HTTP/1.1', 'Host: a', ...END], 404],
    ['an unknown method', ['PROPFIND /healthz HTTP/1.1', 'Host: a', ...END], 404],
    ['an unknown Expect', [...HEAD, 'Expect: 200-ok', ...END], 417],
    ['a compressed body', [...POST, 'Content-Encoding: gzip', 'Content-Length: 1', ...END.slice(0, 2), 'x'], 415],
    ['another charset', [...POST, `${JSON_BODY}; charset=latin1`, 'Content-Length: 2', ...END.slice(0, 2), '{}'], 415],
    ['a body over the limit', [...POST, JSON_BODY, `Content-Length: ${2 ** 30}`, ...END], 413],
  ])('%s has a code', async (_, lines, status) => {
    const answer = await speak(...lines)
    expect([answer.status, faultOf(answer)]).toEqual([status, undefined])
  })
})

test('429 and 500 have a code', async () => {
  const { app } = await createTestApi({
    db: service.db,
    routes: (app) => {
      app.get('/public/v1/thing', async () => ({ ok: true }))
      app.get('/broken', { config: { surface: 'public' } }, async () => {
        throw new Error('broken')
      })
    },
  })
  const { headers } = await createTestKey(service.db, { rateLimitPerMinute: 1 })
  const answers = []
  for (const url of ['/public/v1/thing', '/public/v1/thing', '/broken'])
    answers.push(await app.inject({ url, headers }))
  await app.close()
  expect(answers.map(({ statusCode, headers }) => [statusCode, headers['x-error-code']])).toEqual([
    [200, undefined],
    [429, 'rate_limit_exceeded'],
    [500, 'internal_error'],
  ])
})
