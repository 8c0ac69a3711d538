import type { Dispatcher } from 'undici'
import { expect, test } from 'vitest'
import { atFileEnd } from '../../../test/file-end.ts'
import { type ForwardProxy, startForwardProxy } from '../../../test/forward-proxy.ts'
import { type Receiver, startReceiver, startTlsReceiver } from '../../../test/receiver.ts'
import { exchange } from './exchange.ts'
import { createProxiedAgent, NO_PROXIES, type Proxies } from './proxies.ts'

const PATIENT_MS = 60_000
const UNUSED_PROXY = 'http://127.0.0.1:9'

function createAgent(proxies: Partial<Proxies>, ca?: string): Dispatcher {
  const agent = createProxiedAgent(
    { ...NO_PROXIES, ...proxies },
    { allowH2: false, connect: {}, connectTimeoutMs: PATIENT_MS, ...(ca !== undefined && { ca }) },
  )
  atFileEnd(() => agent.destroy())
  return agent
}

const call = (agent: Dispatcher, url: string) =>
  exchange(agent, { method: 'POST', url, headers: {}, body: '{}', timeoutMs: PATIENT_MS })

/** The receiver's address under a name that only the proxy can resolve. */
const named = ({ url }: Receiver, name: string): string =>
  new URL(url.replace(/localhost|127\.0\.0\.1|provider\.test/, name)).origin

const startPlain = () => startReceiver((_, response) => response.end('{}'))
const startTls = () => startTlsReceiver((_, response) => response.end('{}'), 'provider.test')

test('sends https calls through a tunnel of the proxy', async () => {
  const [proxy, provider] = await Promise.all([startForwardProxy(), startTls()])
  const url = named(provider, 'provider.test')
  expect(await call(createAgent({ https: proxy.url }, provider.cert), `${url}/v25.0/1/messages`)).toMatchObject({
    kind: 'answered',
    status: 200,
  })
  expect(proxy.passed).toEqual([`CONNECT ${new URL(url).host}`])
  expect(provider.received).toMatchObject([{ method: 'POST', url: '/v25.0/1/messages' }])
})

test('sends http calls through the proxy, with its password', async () => {
  const [proxy, provider] = await Promise.all([startForwardProxy(), startPlain()])
  const url = `${named(provider, 'provider.test')}/path?a=1`
  const agent = createAgent({ http: proxy.url.replace('//', '//ada:p%40ss@') })
  expect(await call(agent, url)).toMatchObject({ kind: 'answered', status: 200 })
  expect(proxy.passed).toEqual([`POST ${url}`])
  expect(proxy.authorizations).toEqual([`Basic ${btoa('ada:p@ss')}`])
})

test('uses HTTP_PROXY for https calls if there is no HTTPS_PROXY', async () => {
  const [proxy, provider] = await Promise.all([startForwardProxy(), startTls()])
  await call(createAgent({ http: proxy.url }, provider.cert), named(provider, 'provider.test'))
  expect(proxy.passed).toHaveLength(1)
})

test.each(['localhost', '127.0.0.1'])('never uses a proxy for %s', async (name) => {
  const provider = await startPlain()
  const agent = createAgent({ http: UNUSED_PROXY, https: UNUSED_PROXY })
  expect(await call(agent, named(provider, name))).toMatchObject({ kind: 'answered' })
})

test.each([
  ['provider.test', 'provider.test', false],
  ['provider.test', 'graph.provider.test', false],
  ['.provider.test', 'graph.provider.test', false],
  ['other.test', 'provider.test', true],
  ['provider.test:1', 'provider.test', true],
  ['*', 'provider.test', false],
  ['', 'provider.test', true],
])('NO_PROXY=%s: a call to %s uses the proxy: %s', async (except, name, isProxied) => {
  const [proxy, provider] = await Promise.all([startForwardProxy(), startPlain()])
  await call(createAgent({ http: proxy.url, except }), named(provider, name))
  expect(proxy.passed).toHaveLength(isProxied ? 1 : 0)
})

test.each<[string, () => Promise<Pick<ForwardProxy, 'url'>>]>([
  ['refuses a tunnel', () => startForwardProxy({ refuses: true })],
  ['is down', async () => ({ url: UNUSED_PROXY })],
])('sends nothing through a proxy that %s', async (_, startProxy) => {
  const [{ url }, provider] = await Promise.all([startProxy(), startTls()])
  const agent = createAgent({ https: url }, provider.cert)
  expect(await call(agent, named(provider, 'provider.test'))).toMatchObject({ kind: 'not-sent' })
  expect(provider.received).toEqual([])
})
