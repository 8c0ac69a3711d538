import type { RequestListener, ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startReceiver } from '../../test/receiver.ts'
import { Parley, ParleyError } from '../src/index.ts'

type Step = (response: ServerResponse) => unknown

/** A server that answers each request with the next step; the last step stays. */
async function startServer(...steps: Step[]) {
  let count = 0
  const listener: RequestListener = (_, response) => steps[Math.min(count++, steps.length - 1)]!(response)
  const { url, received } = await startReceiver(listener)
  return { parley: new Parley({ baseUrl: url, apiKey: 'PARLEY-1-x' }), received }
}

const answer =
  (status: number, body: unknown, headers: Record<string, string> = {}): Step =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
const refuse = (status: number, code: string, headers?: Record<string, string>) =>
  answer(status, { error: { code, message: 'No' } }, headers)
const hangUp: Step = (response) => response.socket?.destroy()
const silent: Step = () => undefined
const success = answer(200, { success: true, data: {} })

const text = { recipient: '393331234567', type: 'text', text: 'Hello' } as const
const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'success',
    (error) => (error instanceof ParleyError ? error.code : error),
  )

describe('a POST is repeated with one Idempotency-Key', () => {
  test.each([
    ['a cut connection', hangUp],
    ['503', refuse(503, 'service_unavailable', { 'retry-after': '0' })],
    ['429', refuse(429, 'rate_limit_exceeded', { 'retry-after': '0' })],
    ['409 while the first request still runs', refuse(409, 'idempotency_key_in_use')],
    ['502 of a proxy', (response: ServerResponse) => response.writeHead(502).end('<h1>Bad gateway</h1>')],
  ])('after %s', async (_, failure) => {
    const { parley, received } = await startServer(failure, success)
    await parley.sendWhatsAppMessage(text)
    const keys = received.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toHaveLength(2)
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
    expect(new Set(keys).size).toBe(1)
    expect(received.map(({ body }) => String(body))).toEqual([JSON.stringify(text), JSON.stringify(text)])
  })

  test('after an attempt that is too long', async () => {
    const { parley, received } = await startServer(silent, success)
    await parley.sendWhatsAppMessage(text, { attemptTimeoutMs: 300 })
    expect(received).toHaveLength(2)
  })

  test('of which another call has another', async () => {
    const { parley, received } = await startServer(success)
    await parley.sendWhatsAppMessage(text)
    await parley.sendWhatsAppMessage(text)
    await parley.sendWhatsAppMessage(text, { idempotencyKey: 'order-1042' })
    const keys = received.map(({ headers }) => headers['idempotency-key'])
    expect(new Set(keys).size).toBe(3)
    expect(keys[2]).toBe('order-1042')
  })
})

describe('these are never repeated', () => {
  test.each([
    [
      'a send whose outcome is unknown',
      refuse(503, 'send_outcome_unknown', { 'retry-after': '0' }),
      'send_outcome_unknown',
    ],
    ['a refusal', refuse(422, 'session_window_closed'), 'session_window_closed'],
    ['a failure of the service', answer(500, { error: 'Failed to send the message' }), 'internal_error'],
    ['an answer that is no JSON', (response: ServerResponse) => response.end('<h1>Hello</h1>'), 'unexpected_answer'],
  ])('%s', async (_, failure, code) => {
    const { parley, received } = await startServer(failure, success)
    expect(await codeOf(parley.sendWhatsAppMessage(text))).toBe(code)
    expect(received).toHaveLength(1)
  })

  test('a DELETE that got no answer, since its repeat would answer 404', async () => {
    const { parley, received } = await startServer(hangUp, success)
    expect(await codeOf(parley.deleteContact({ id: 1 }))).toBe('network_error')
    expect(received).toHaveLength(1)
  })

  test('a redirect, which would carry the key to another server', async () => {
    const other = await startReceiver()
    const { parley } = await startServer((response) => response.writeHead(307, { location: other.url }).end())
    expect(await codeOf(parley.sendWhatsAppMessage(text, { maxRetries: 0 }))).toBe('network_error')
    expect(other.received).toEqual([])
  })
})

describe('limits', () => {
  test('Retry-After is waited for', async () => {
    const { parley } = await startServer(refuse(429, 'rate_limit_exceeded', { 'retry-after': '1' }), success)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    onTestFinished(() => timers.mockRestore())
    await parley.listSenders()
    expect(timers.mock.calls.some(([, ms = 0]) => ms >= 1_000 && ms < 2_000)).toBe(true)
  })

  test('a Retry-After beyond the time limit is an error at once, with the wait', async () => {
    const { parley, received } = await startServer(refuse(429, 'rate_limit_exceeded', { 'retry-after': '3600' }))
    const error: unknown = await parley.sendWhatsAppMessage(text).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', status: 429, retryAfterSeconds: 3600 })
    expect(received).toHaveLength(1)
  })

  test('maxRetries bounds the repeats', async () => {
    const { parley, received } = await startServer(hangUp)
    expect(await codeOf(parley.listSenders({}, { maxRetries: 1 }))).toBe('network_error')
    expect(received).toHaveLength(2)
  })

  test('timeoutMs ends the call with all its repeats', async () => {
    const { parley } = await startServer(silent)
    const call = parley.sendWhatsAppMessage(text, { timeoutMs: 400, attemptTimeoutMs: 100 })
    expect(await codeOf(call)).toBe('timeout')
  })

  test('no time limit at all is possible', async () => {
    const { parley } = await startServer(hangUp, success)
    const unlimited = Number.POSITIVE_INFINITY
    expect(await codeOf(parley.listSenders({}, { timeoutMs: unlimited, attemptTimeoutMs: unlimited }))).toBe('success')
  })

  test('a signal ends an attempt and a wait with its own reason', async () => {
    const reason = new Error('The user left')
    for (const step of [silent, refuse(503, 'service_unavailable', { 'retry-after': '60' })]) {
      const { parley, received } = await startServer(step)
      const stop = new AbortController()
      const call = codeOf(parley.listSenders({}, { signal: stop.signal }))
      while (received.length === 0) await new Promise((resume) => setTimeout(resume, 10))
      setTimeout(() => stop.abort(reason), 50)
      expect(await call).toBe(reason)
    }
  })
})

test('a path parameter stays one segment', async () => {
  const { parley, received } = await startServer(success)
  await parley.getEmailStats({ id: 'eml_/../$&' })
  expect(received[0]!.url).toBe('/public/v1/emails/eml_%2F..%2F%24%26/stats')
  expect(await codeOf(parley.getEmailStats({ id: '..' }))).toBeInstanceOf(TypeError)
})

test('a list ends after its page when the service sends no cursor', async () => {
  const pagination = { totalRecords: 1, currentPage: 1, totalPages: 1, nextPage: null, prevPage: null }
  const { parley, received } = await startServer(answer(200, { items: [{}], data: [{}], pagination }))
  for (const list of [parley.allSenders(), parley.allConversations(), parley.allContacts()]) {
    await list.next()
    expect(await list.next()).toEqual({ done: true, value: undefined })
  }
  expect(received).toHaveLength(3)
})
