import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { createTestApi } from '../../test/api.ts'
import { createTestDatabase } from '../../test/database.ts'
import { pageRoutes } from './page-routes.ts'

const { db } = await createTestDatabase()
const folder = await mkdtemp(join(tmpdir(), 'parley-pages-'))
afterAll(() => rm(folder, { recursive: true }))
const PAGE = `<!doctype html><title>Parley</title>${' '.repeat(2_000)}`
const SCRIPT = `console.log('${'x'.repeat(2_000)}')`

async function serve(pagesFolder: string, options: { sandboxUrl?: string; baseUrl?: string } = {}) {
  const { baseUrl = 'http://127.0.0.1:3000', sandboxUrl } = options
  const hostOf = ({ headers }: { headers: { host?: string | undefined } }) => headers.host ?? ''
  const { app } = await createTestApi({
    db,
    config: { baseUrl },
    routes: async (to) => {
      await to.register(pageRoutes({ config: { baseUrl }, pagesFolder, sandboxUrl, hostOf }))
    },
  })
  afterAll(() => app.close())
  const get = (url: string, headers: Record<string, string> = {}) =>
    app.inject({ url, headers: { host: '127.0.0.1:3000', accept: 'text/html,*/*;q=0.8', ...headers } })
  return { get }
}

await mkdir(join(folder, 'assets'))
await writeFile(join(folder, 'index.html'), PAGE)
await writeFile(join(folder, 'index.html.gz'), gzipSync(PAGE))
await writeFile(join(folder, 'phone.html'), 'the phone')
await writeFile(join(folder, '.stamp'), 'stamp')
await writeFile(join(folder, 'icon.svg'), '<svg/>')
await writeFile(join(folder, 'assets/main-4f2a.js'), SCRIPT)
await writeFile(join(folder, 'assets/main-4f2a.js.gz'), gzipSync(SCRIPT))
const { get } = await serve(folder)

test('the page has exactly these headers', async () => {
  const answer = await get('/console/')
  expect([answer.statusCode, answer.body]).toEqual([200, PAGE])
  expect(answer.headers).toMatchObject({
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    etag: expect.any(String),
  })
})

test('with the sandbox the page may frame its origin', async () => {
  const withSandbox = await serve(folder, { sandboxUrl: 'http://127.0.0.1:3001' })
  const policy = (await withSandbox.get('/console/')).headers['content-security-policy']
  expect(policy).toContain("; frame-src 'self' http://127.0.0.1:3001; form-action")
})

test('a browser that has the page gets 304', async () => {
  const { etag } = (await get('/console/')).headers
  expect((await get('/console/', { 'if-none-match': String(etag) })).statusCode).toBe(304)
})

test.each([
  '/console/inbox/812?status=open',
  '/console/no/such/page',
  '/console/phone.html',
  '/console/.stamp',
])('%s is the page for a browser that opens it, and not found for anything else', async (path) => {
  expect((await get(path)).body).toBe(PAGE)
  expect((await get(path, { accept: '*/*' })).statusCode).toBe(404)
})

test('assets are kept by browsers for good, and served compressed as they were built', async () => {
  const plain = await get('/console/assets/main-4f2a.js', { accept: '*/*' })
  expect(plain.body).toBe(SCRIPT)
  expect(plain.headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'content-type': expect.stringMatching(/^(text|application)\/javascript/),
  })
  const small = await get('/console/assets/main-4f2a.js', { 'accept-encoding': 'gzip' })
  expect(small.headers).toMatchObject({ 'content-encoding': 'gzip', vary: expect.stringMatching(/accept-encoding/i) })
  expect(small.rawPayload).toEqual(gzipSync(SCRIPT))
  expect((await get('/console/', { 'accept-encoding': 'gzip, br' })).headers['content-encoding']).toBe('gzip')
})

test.each([
  '/console/assets/main-0000.js',
  '/console/assets/',
  '/console/assets/..%2findex.html',
  '/console/assets/..%2f.stamp',
  '/console/api',
  '/console/api/nothing',
  '/console/api/session/nothing',
])('%s is not found', async (path) => {
  const answer = await get(path)
  expect([path, answer.statusCode === 404, answer.body.includes('<title>')]).toEqual([path, true, false])
})

test('an asset that does not exist is not kept by browsers', async () => {
  const { statusCode, headers } = await get('/console/assets/main-0000.js')
  expect([statusCode, headers['cache-control']]).toEqual([404, undefined])
})

test('a page under another host name leads to BASE_URL', async () => {
  const answer = await get('/console/inbox?x=1', { host: 'localhost:3000' })
  expect([answer.statusCode, answer.headers.location]).toEqual([302, 'http://127.0.0.1:3000/console/inbox?x=1'])
  const asset = await get('/console/assets/main-4f2a.js', { accept: '*/*', host: 'evil.example' })
  expect([asset.statusCode, asset.headers.location]).toEqual([302, 'http://127.0.0.1:3000/console/assets/main-4f2a.js'])
  const https = await serve(folder, { baseUrl: 'https://parley.example' })
  expect((await https.get('/console/', { host: 'parley.example' })).statusCode).toBe(200)
  expect((await https.get('/console/', { host: 'parley.example:443' })).statusCode).toBe(200)
})

test('the root and /console lead a browser to the console', async () => {
  for (const path of ['/', '/console']) {
    const answer = await get(path)
    expect([answer.statusCode, answer.headers.location]).toEqual([302, 'http://127.0.0.1:3000/console/'])
  }
  expect((await get('/', { accept: '*/*' })).statusCode).toBe(404)
})

test('a console that is not built says how to build it', async () => {
  const absent = await serve(join(folder, 'absent'))
  const answer = await absent.get('/console/')
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([503, expect.stringMatching(/^text\/plain/)])
  expect(answer.headers['x-error-code']).toBe('service_unavailable')
  expect(answer.body).toContain('node scripts/setup.mjs')
})
