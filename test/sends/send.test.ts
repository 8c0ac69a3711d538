import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeEach, describe, expect, test } from 'vitest'
import outboundSchema from '../../sandbox/outbound-message.schema.json' with { type: 'json' }
import { PAIR_BURST, PAIR_SECONDS } from '../../src/sends/batch/decide-sends.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'

const isOutbound = new Ajv2020({ strict: false }).compile(outboundSchema)
const SEND = '/templates/whatsapp/send'

const service = await startTestService({ mirrors: true, config: { providerTimeoutMs: 5_000 } })
const company = await service.createCompany()
beforeEach(() =>
  service.control('PUT', '/behaviour', { latencyMs: 0, errorRate: 0, refuseWithCode: null, hang: false }),
)

const send = (body: object, headers: Record<string, string> = {}) => company.api('POST', SEND, body, headers)

/** A customer writes, which opens the window. */
async function openWindow(from: string, phoneNumberId = company.phoneNumberId) {
  await service.control('POST', '/inbound', { phoneNumberId, from, type: 'text', text: { body: 'Hi' } })
  await eventually(async () => {
    const rows = await service.db`
      select 1
      from conversations conversation
      join customers customer on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
      where customer.phone = ${from} and conversation.last_inbound_at is not null
    `
    return rows.length > 0
  })
  return from
}

/** The request that the provider received for a message; valid by its schema. */
async function receivedBy(wamid: string) {
  const { body } = await service.control('GET', '/messages?limit=500')
  const found = body.find((message: { wamid: string }) => message.wamid === wamid)
  expect(isOutbound(found?.body), JSON.stringify(isOutbound.errors)).toBe(true)
  return found.body
}

const rowOf = async (messageId: number) => {
  const rows = await service.db`select status, wamid, error, text, type from messages where id = ${messageId}`
  return rows[0]
}

describe('every type reaches the provider with the body that it wants', () => {
  const link = 'https://example.com/file'
  const contents: [string, object, object][] = [
    ['text', { type: 'text', text: 'Ciao' }, { type: 'text', text: { body: 'Ciao', preview_url: false } }],
    [
      'image',
      { type: 'image', media: { link, caption: 'Look', filename: 'ignored.jpg' } },
      { type: 'image', image: { link, caption: 'Look' } },
    ],
    ['video', { type: 'video', media: { link } }, { type: 'video', video: { link } }],
    ['audio', { type: 'audio', media: { link } }, { type: 'audio', audio: { link } }],
    [
      'document',
      { type: 'document', media: { link, caption: 'Offer', filename: 'offer.pdf' } },
      { type: 'document', document: { link, caption: 'Offer', filename: 'offer.pdf' } },
    ],
    ['sticker', { type: 'sticker', media: { link } }, { type: 'sticker', sticker: { link } }],
  ]
  test.each(contents)('%s', async (_, content, expected) => {
    const recipient = await openWindow(uniquePhone())
    const { status, body } = await send({ recipient, ...content })
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        data: {
          success: true,
          chatId: expect.any(Number),
          messageId: expect.any(Number),
          wamid: expect.stringMatching(/^wamid\./),
        },
      },
    ])
    expect(await receivedBy(body.data.wamid)).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: recipient,
      ...expected,
      biz_opaque_callback_data: String(body.data.messageId),
    })
    expect(await rowOf(body.data.messageId)).toMatchObject({ status: 'sent', wamid: body.data.wamid })
  })

  test('a media id of the number is sent as it is; one that the number did not upload is refused', async () => {
    const recipient = await openWindow(uniquePhone())
    const providerMediaId = await service.uploadMedia(company.phoneNumberId)
    const { body } = await send({ recipient, type: 'sticker', media: { providerMediaId } })
    expect((await receivedBy(body.data.wamid)).sticker).toEqual({ id: providerMediaId })
    const refused = await send({ recipient, type: 'sticker', media: { providerMediaId: '42' } })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('Invalid parameter')])
  })

  test('media that the provider holds are noted for copying with the outcome, media behind a link are not', async () => {
    const recipient = await openWindow(uniquePhone())
    const noted = async (media: object) => {
      const { body } = await send({ recipient, type: 'image', media })
      return service.db`
        select provider_media_id from media
        where (company_id, message_id) = (${company.companyId}, ${body.data.messageId})
      `
    }
    const providerMediaId = await service.uploadMedia(company.phoneNumberId)
    expect(await noted({ providerMediaId })).toEqual([{ providerMediaId }])
    expect(await noted({ link })).toEqual([])
  })

  const text = (value: string) => ({ type: 'text', text: value })
  const templates: [string, object, object][] = [
    [
      'a positional template, by name and language',
      {
        name: 'order_update',
        languageCode: 'it',
        components: [{ type: 'BODY', parameters: [text('Ada'), text('A-1')] }],
      },
      {
        name: 'order_update',
        language: { code: 'it' },
        components: [{ type: 'body', parameters: [text('Ada'), text('A-1')] }],
      },
    ],
    [
      'a static template, without components',
      { name: 'shipping_notice' },
      { name: 'shipping_notice', language: { code: 'en_US' } },
    ],
    [
      'a template with header and buttons',
      {
        name: 'order_ready',
        components: [
          { type: 'HEADER', parameters: [{ type: 'image', image: { link: 'https://example.com/a.jpg' } }] },
          { type: 'BODY', parameters: [text('Ada'), text('A-1')] },
          { type: 'BUTTONS', parameters: [text('A-1')] },
        ],
      },
      {
        name: 'order_ready',
        language: { code: 'en_US' },
        components: [
          { type: 'header', parameters: [{ type: 'image', image: { link: 'https://example.com/a.jpg' } }] },
          { type: 'body', parameters: [text('Ada'), text('A-1')] },
          { type: 'button', sub_type: 'url', index: '1', parameters: [text('A-1')] },
        ],
      },
    ],
  ]
  test.each(templates)('%s, with no window open', async (_, template, expected) => {
    const { status, body } = await send({ recipient: uniquePhone(), type: 'template', template })
    expect([status, body.error]).toEqual([200, undefined])
    expect((await receivedBy(body.data.wamid)).template).toEqual(expected)
  })

  test('a named template, its names filled in by order, inside the window', async () => {
    const recipient = await openWindow(uniquePhone())
    const template = {
      name: 'welcome_offer',
      components: [{ type: 'BODY', parameters: [text('Ada'), text('SAVE10')] }],
    }
    const { body } = await send({ recipient, type: 'template', template })
    expect((await receivedBy(body.data.wamid)).template.components[0].parameters).toEqual([
      { ...text('Ada'), parameter_name: 'first_name' },
      { ...text('SAVE10'), parameter_name: 'code' },
    ])
  })

  test('a customer who hides the phone is addressed by user id', async () => {
    const { status, body } = await send({
      recipient: 'US.13491208655302741918',
      type: 'template',
      template: { name: 'shipping_notice' },
    })
    expect(status).toBe(200)
    const sent = await receivedBy(body.data.wamid)
    expect([sent.recipient, sent.to]).toEqual(['US.13491208655302741918', undefined])
  })

  test('a template is found by its family id as well', async () => {
    const { body: list } = await company.api('GET', '/templates/whatsapp')
    const family = list.data.find((template: { name: string }) => template.name === 'shipping_notice')
    const { status } = await send({ recipient: uniquePhone(), type: 'template', template: { id: family.id } })
    expect(status).toBe(200)
  })
})

describe('refusals', () => {
  const template = { name: 'shipping_notice' }
  const cases: [string, object, number, object][] = [
    ['recipient absent', { type: 'text', text: 'Hi' }, 400, { error: 'Missing recipient phone number' }],
    ['recipient empty', { recipient: '', type: 'text', text: 'Hi' }, 400, { error: 'Missing recipient phone number' }],
    [
      'recipient with an impossible length',
      { recipient: '39 333 123456789012', type: 'text', text: 'Hi' },
      422,
      { error: { code: 'invalid_phone_number', details: { fields: [{ path: 'recipient' }] } } },
    ],
    [
      'recipient of another type',
      { recipient: 393331234567, type: 'text', text: 'Hi' },
      422,
      { error: { code: 'invalid_phone_number' } },
    ],
    [
      'window closed',
      { recipient: '393330000001', type: 'text', text: 'Hi' },
      422,
      { error: { code: 'session_window_closed', details: { lastInboundAt: null } } },
    ],
    [
      'media outside the window',
      { recipient: '393330000001', type: 'image', media: { link: 'https://a.example/a.jpg' } },
      422,
      { error: { code: 'session_window_closed' } },
    ],
    [
      'unknown sender',
      { recipient: '393330000001', type: 'template', template, sender: '49123456789' },
      404,
      { error: { code: 'WHATSAPP_SENDER_NOT_FOUND' } },
    ],
    [
      'unknown template',
      { recipient: '393330000001', type: 'template', template: { name: 'nothing' } },
      404,
      { error: { code: 'template_not_found' } },
    ],
    [
      'unknown language',
      { recipient: '393330000001', type: 'template', template: { ...template, languageCode: 'fr' } },
      404,
      { error: { code: 'template_not_found', details: { languages: ['en_US'] } } },
    ],
    [
      'pending template',
      { recipient: '393330000001', type: 'template', template: { name: 'season_preview' } },
      422,
      { error: { code: 'template_not_approved' } },
    ],
    [
      'rejected template',
      { recipient: '393330000001', type: 'template', template: { name: 'big_prize' } },
      422,
      { error: { code: 'template_not_approved' } },
    ],
    [
      'paused template',
      { recipient: '393330000001', type: 'template', template: { name: 'feedback_invite' } },
      422,
      { error: { code: 'template_not_approved' } },
    ],
    [
      'count of parameters',
      { recipient: '393330000001', type: 'template', template: { name: 'order_update', languageCode: 'it' } },
      422,
      { error: { code: 'parameter_mismatch', details: { component: 'BODY', expected: 2, given: 0 } } },
    ],
  ]
  test.each(cases)('%s', async (_, body, status, expected) => {
    const answer = await send(body)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject(expected)
  })

  test('a marketing template outside the window: 422, also when the number was never written to', async () => {
    const parameters = [
      { type: 'text', text: 'Ada' },
      { type: 'text', text: 'SAVE' },
    ]
    const answer = await send({
      recipient: uniquePhone(),
      type: 'template',
      template: { name: 'welcome_offer', components: [{ type: 'BODY', parameters }] },
    })
    expect([answer.status, answer.body.error.code]).toEqual([422, 'session_window_closed'])
  })

  test('a wrong parameter_name: the provider’s own text', async () => {
    const recipient = await openWindow(uniquePhone())
    const parameters = [{ type: 'text', text: 'Ada', parameter_name: 'nonsense' }]
    const answer = await send({
      recipient,
      type: 'template',
      template: { name: 'welcome_offer', components: [{ type: 'BODY', parameters }] },
    })
    expect([answer.status, answer.body]).toEqual([400, { error: '(#100) Invalid parameter' }])
  })

  test('the provider’s details of a refusal are on the message, and in a coded error', async () => {
    const recipient = await openWindow(uniquePhone())
    const refuse = async (refuseWithCode: number | null) => service.control('PUT', '/behaviour', { refuseWithCode })
    await refuse(100)
    const refused = await send({ recipient, type: 'text', text: 'Ciao' })
    await refuse(132000)
    const mismatch = await send({ recipient, type: 'text', text: 'Ciao' })
    await refuse(null)
    expect([refused.status, refused.body]).toEqual([400, { error: '(#100) Invalid parameter' }])
    const [message] = await service.db`select error from messages where error->>'code' = '100' order by id desc limit 1`
    expect(message?.error).toEqual({ code: 100, title: '(#100) Invalid parameter', details: 'Refused as ordered' })
    expect(mismatch.body.error).toMatchObject({
      code: 'parameter_mismatch',
      details: { provider: expect.stringMatching(/^132000: \(#132000\) .+: Refused as ordered$/) },
    })
  })

  test('a contact who opted out gets no marketing: 403', async () => {
    const recipient = await openWindow(uniquePhone())
    await company.api('POST', '/contacts', { phone: recipient, marketingConsent: { whatsapp: false } })
    const parameters = [
      { type: 'text', text: 'Ada' },
      { type: 'text', text: 'SAVE' },
    ]
    const answer = await send({
      recipient,
      type: 'template',
      template: { name: 'welcome_offer', components: [{ type: 'BODY', parameters }] },
    })
    expect([answer.status, answer.body.error.code]).toEqual([403, 'forbidden'])
  })

  test('no number connected: 404 no_whatsapp_account', async () => {
    const bare = await service.createCompany({ isConnected: false })
    const answer = await bare.api('POST', SEND, { recipient: '393330000001', type: 'text', text: 'Hi' })
    expect([answer.status, answer.body.error.code]).toEqual([404, 'no_whatsapp_account'])
  })

  test('another company’s number and template are as unknown as any', async () => {
    const other = await service.createCompany()
    const bySender = await send({ recipient: uniquePhone(), type: 'template', template, sender: other.phoneNumberId })
    expect([bySender.status, bySender.body.error.code]).toEqual([404, 'WHATSAPP_SENDER_NOT_FOUND'])
    const { body: list } = await other.api('GET', '/templates/whatsapp')
    const byTemplate = await send({ recipient: uniquePhone(), type: 'template', template: { id: list.data[0].id } })
    expect([byTemplate.status, byTemplate.body.error.code]).toEqual([404, 'template_not_found'])
  })

  test('the key needs WhatsApp or Transactional: 403', async () => {
    const client = await service.createCompany({ permissions: ['ContactsUpsert'] })
    const answer = await client.api('POST', SEND, { recipient: '393330000001', type: 'text', text: 'Hi' })
    expect([answer.status, answer.body.error.code]).toEqual([403, 'forbidden'])
  })

  test('over the daily limit: 429 with the time to wait', async () => {
    const small = await service.createCompany({ sender: { dailyLimit: 1 } })
    const first = await small.api('POST', SEND, { recipient: uniquePhone(), type: 'template', template })
    const second = await small.api('POST', SEND, { recipient: uniquePhone(), type: 'template', template })
    expect([first.status, second.status, second.body.error.code]).toEqual([200, 429, 'rate_limit_exceeded'])
    expect(Number(second.headers.get('retry-after'))).toBe(second.body.error.retry_after)
  })
})

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
