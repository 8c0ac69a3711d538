import { describe, expect, test } from 'vitest'
import { PAIR_BURST, PAIR_SECONDS } from '../../src/sends/batch/decide-sends.ts'
import { startReceiver } from '../receiver.ts'
import { uniquePhone } from '../service.ts'
import { startSends } from './send-world.ts'

const { SEND, service, company, send, openWindow } = await startSends()

describe('answers of the provider', () => {
  const template = { name: 'shipping_notice' }
  const ending = (digits: string) => `39${uniquePhone().slice(-4)}${digits}`
  const cases: [string, number, object, string][] = [
    ['00131026', 422, { error: { code: 'recipient_not_on_whatsapp' } }, 'failed'],
    ['00131047', 422, { error: { code: 'session_window_closed' } }, 'failed'],
    ['00130429', 429, { error: { code: 'rate_limit_exceeded', retry_after: expect.any(Number) } }, 'failed'],
    ['00000190', 500, { error: 'Failed to send the message' }, 'failed'],
    ['00000500', 500, { error: 'Failed to send the message' }, 'failed'],
    ['00000000', 503, { error: { code: 'send_outcome_unknown' } }, 'unknown'],
  ]
  test.each(cases)('a number ending in %s: %i', async (digits, status, expected, kept) => {
    const answer = await send({ recipient: ending(digits), type: 'template', template })
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject(expected)
    const [row] =
      await service.db`select status, wamid from messages where company_id = ${company.companyId} order by id desc limit 1`
    expect(row).toEqual({ status: kept, wamid: null })
  })

  test.each([
    [131008, 'validation_error', 'template'],
    [131009, 'validation_error', 'template'],
    [131021, 'validation_error', 'recipient'],
    [131030, 'validation_error', 'recipient'],
    [131053, 'validation_error', 'template'],
    [132005, 'validation_error', 'template'],
    [132007, 'validation_error', 'template'],
  ])('a refusal of the request with %i: 422 with the provider’s code and text', async (code, expected, path) => {
    await service.control('PUT', '/behaviour', { refuseWithCode: code })
    const { status, body } = await send({ recipient: uniquePhone(), type: 'template', template })
    await service.control('PUT', '/behaviour', { refuseWithCode: null })
    const provider = expect.stringMatching(new RegExp(`^${code}: \\(#${code}\\) .+: Refused as ordered$`))
    expect([status, body.error.code]).toEqual([422, expected])
    expect(body.error.details).toEqual({
      fields: [{ path, message: expect.stringContaining('Refused as ordered') }],
      provider,
    })
  })

  test('a refusal of the recipient’s number with 131009: 422 invalid_phone_number', async () => {
    const details = 'The parameter to is not a valid phone number'
    const error = { code: 131009, message: '(#131009) Parameter value is not valid', error_data: { details } }
    const provider = await startReceiver((_, response) => response.writeHead(400).end(JSON.stringify({ error })))
    const other = await service.createCompany()
    const path = `/companies/${other.companyId}/senders/${other.sender.channelId}`
    await service.operator('PATCH', path, { apiBaseUrl: provider.url.slice(0, -1) })
    const { status, body } = await other.api('POST', SEND, { recipient: uniquePhone(), type: 'template', template })
    expect([status, body.error]).toMatchObject([
      422,
      {
        code: 'invalid_phone_number',
        details: { fields: [{ path: 'recipient' }], provider: `131009: ${error.message}: ${details}` },
      },
    ])
  })

  test('nothing was sent for sure: 503 service_unavailable', async () => {
    const away = await service.createCompany()
    await service.operator('PATCH', `/companies/${away.companyId}/senders/${away.sender.channelId}`, {
      apiBaseUrl: 'http://127.0.0.1:9',
    })
    const { status, body } = await away.api('POST', SEND, { recipient: uniquePhone(), type: 'template', template })
    expect([status, body.error.code]).toEqual([503, 'service_unavailable'])
    const rows = await service.db`select status from messages where company_id = ${away.companyId}`
    expect(rows).toEqual([{ status: 'failed' }])
  })

  test('while the provider is down, sends fail at once and write nothing', async () => {
    const away = await service.createCompany()
    await service.operator('PATCH', `/companies/${away.companyId}/senders/${away.sender.channelId}`, {
      apiBaseUrl: 'http://127.0.0.1:9',
    })
    const send = () => away.api('POST', SEND, { recipient: uniquePhone(), type: 'template', template })
    for (let attempt = 0; attempt < 12; attempt++) expect((await send()).status).toBe(503)
    const rows = await service.db`select 1 from messages where company_id = ${away.companyId}`
    expect(rows).toHaveLength(10)
  })
})

describe('more first sends at once to one number than its burst', () => {
  test('make one contact, one conversation, a burst of messages; the five beyond it are asked to wait', async () => {
    const fresh = await service.createCompany()
    const recipient = uniquePhone()
    const startedAtMs = performance.now()
    const answers = await Promise.all(
      Array.from({ length: PAIR_BURST + 5 }, () =>
        fresh.api('POST', SEND, { recipient, type: 'template', template: { name: 'shipping_notice' } }),
      ),
    )
    const sent = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 429)
    // A busy machine may take longer than the time after which one more has its slot.
    const most = PAIR_BURST + Math.floor((performance.now() - startedAtMs) / (PAIR_SECONDS * 1_000))
    expect(sent.length).toBeGreaterThanOrEqual(PAIR_BURST)
    expect(sent.length).toBeLessThanOrEqual(most)
    expect(sent.length + refused.length).toBe(PAIR_BURST + 5)
    expect(new Set(sent.map(({ body }) => body.data.chatId)).size).toBe(1)
    expect(new Set(sent.map(({ body }) => body.data.messageId)).size).toBe(sent.length)
    for (const { body } of refused) {
      expect(body.error).toMatchObject({ code: 'rate_limit_exceeded', retry_after: expect.any(Number) })
    }
    const [count] = await service.db`
      select
        (select count(*)::int from contacts where company_id = ${fresh.companyId}) as contacts,
        (select count(*)::int from conversations where company_id = ${fresh.companyId}) as conversations,
        (select count(*)::int from messages where company_id = ${fresh.companyId}) as messages
    `
    expect(count).toEqual({ contacts: 1, conversations: 1, messages: sent.length })
  })
})

describe('Idempotency-Key', () => {
  const template = { name: 'shipping_notice' }

  test('twenty equal requests send once and all get the same answer', async () => {
    const body = { recipient: uniquePhone(), type: 'template', template }
    const headers = { 'idempotency-key': 'order-1' }
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(body, headers)))
    const running = answers.filter(({ status }) => status === 409)
    const done = answers.filter(({ status }) => status === 200)
    expect(running.length + done.length).toBe(20)
    const again = await send(body, headers)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(new Set([...done, again].map(({ text }) => text)).size).toBe(1)
    const sent = await service.control('GET', '/messages?limit=500')
    expect(sent.body.filter((message: { to: string }) => message.to === body.recipient)).toHaveLength(1)
  })

  test('an unknown outcome is kept and never sent again', async () => {
    const body = { recipient: '393300000000', type: 'template', template }
    const first = await send(body, { 'idempotency-key': 'unknown-1' })
    const second = await send(body, { 'idempotency-key': 'unknown-1' })
    expect([first.status, second.status, second.text]).toEqual([503, 503, first.text])
    const sent = await service.control('GET', '/messages?limit=500')
    expect(sent.body.filter((message: { to: string }) => message.to === body.recipient)).toHaveLength(1)
  })

  test('503 and 429 that say that nothing was sent can be repeated, and the message goes then, once', async () => {
    const away = await service.createCompany()
    const patch = (apiBaseUrl: string) =>
      service.operator('PATCH', `/companies/${away.companyId}/senders/${away.sender.channelId}`, { apiBaseUrl })
    const body = { recipient: uniquePhone(), type: 'template', template }
    const post = () => away.api('POST', SEND, body, { 'idempotency-key': 'repeatable' })
    await patch('http://127.0.0.1:9')
    expect((await post()).status).toBe(503)
    await patch(service.sandbox.url)
    await service.control('PUT', '/behaviour', { refuseWithCode: 130429 })
    expect((await post()).status).toBe(429)
    await service.control('PUT', '/behaviour', { refuseWithCode: null })
    const answers = [await post(), await post()]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers[1]?.headers.get('idempotent-replayed')).toBe('true')
    const sent = await service.control('GET', '/messages?limit=500')
    expect(sent.body.filter((message: { to: string }) => message.to === body.recipient)).toHaveLength(1)
  })

  test('a refusal of our own is not kept', async () => {
    const body = { recipient: uniquePhone(), type: 'text', text: 'Hi' }
    expect((await send(body, { 'idempotency-key': 'window-1' })).status).toBe(422)
    await openWindow(body.recipient)
    expect((await send(body, { 'idempotency-key': 'window-1' })).status).toBe(200)
  })
})
