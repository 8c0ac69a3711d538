import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { readyFolder, startParley, until } from '../parley-process.ts'

type Span = { name: string; traceId: string; spanId: string; parentSpanId?: string }
type Export = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

/** An HTTP server that keeps what it is sent. */
async function listen<Kept>(read: (request: import('node:http').IncomingMessage) => Promise<Kept>) {
  const kept: Kept[] = []
  const server = createServer(async (request, response) => {
    kept.push(await read(request))
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { kept, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

test('sends, ingested events, their handling and deliveries are spans that continue a traceparent', async () => {
  const collector = await listen(async (request) => (await json(request)) as Export)
  const receiver = await listen(async ({ headers }) => String(headers.traceparent))
  const sandbox = await freePort()
  const parley = await startParley({
    DATA_DIR: await readyFolder(),
    SANDBOX: 'on',
    SANDBOX_PORT: String(sandbox),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
  })
  await parley.says('What the sandbox')
  const token = /Bearer (PARLEY-[^']+)/.exec(parley.output())?.[1]
  const post = (address: string, body: object, headers: Record<string, string> = {}) =>
    fetch(address, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const registration = { name: 'Traced', url: `${receiver.url}/`, events: ['whatsapp.message.received'] }
  expect((await post(`${parley.address}/public/v1/webhooks/registrations`, registration)).status).toBe(201)
  const text = { recipient: '393331234567', type: 'text', text: 'Hello' }
  const traceparent = `00-${TRACE}-${PARENT}-01`
  const sent = await post(`${parley.address}/public/v1/templates/whatsapp/send`, text, { traceparent })
  expect(sent.status).toBe(200)
  const written = { phoneNumberId: '100000000000001', from: '393331234567', type: 'text', text: { body: 'Hi' } }
  await post(`http://127.0.0.1:${sandbox}/sandbox/inbound`, written)

  const spans = () =>
    collector.kept.flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
    )
  const named = (name: string) => spans().filter((span) => span.name === name)
  await until('every kind of span has arrived', () =>
    ['send', 'ingest', 'handle', 'deliver'].every((name) => named(name).length > 0),
  )
  expect(named('send')).toMatchObject([{ traceId: TRACE, parentSpanId: PARENT }])
  await until('the receiver has a delivery', () => receiver.kept.length > 0)
  const [delivered] = receiver.kept
  const contexts = () => named('deliver').map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`)
  await until('its span has arrived', () => contexts().includes(delivered ?? 'none'))
  expect(await parley.signal('SIGTERM')).toBe(0)
}, 300_000)
