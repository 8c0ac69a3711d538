import { describe, expect, test } from 'vitest'
import { uniquePhone } from '../service.ts'
import { startSends } from './send-world.ts'

const { SEND, service, company, send, openWindow } = await startSends()

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
