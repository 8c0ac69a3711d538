import { beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, changeOf, inboxOf, newWamid, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'

const LIST = '/whatsapp/conversations'
const NOT_FOUND = { message: 'Conversation not found' }

let service: TestService
let provider: ReturnType<typeof providerOf>
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
  provider = providerOf(service)
})

type Company = Awaited<ReturnType<TestService['createCompany']>>

/** A company with a conversation that a customer began. */
async function conversationOf(input: { from?: string; company?: Company } = {}) {
  const company = input.company ?? (await service.createCompany())
  const from = input.from ?? uniquePhone()
  await provider.messages(company.phoneNumberId, textFrom(from, 'Is it ready?'))
  const { chatId } = await inboxOf(company).find(from)
  const call = (method: string, path = '', body?: unknown, headers?: Record<string, string>) =>
    company.api(method, `${LIST}/${chatId}${path}`, body, headers)
  return { company, from, chatId, call }
}

describe('GET /public/v1/whatsapp/conversations/{chatId}', () => {
  test('returns the record that the list has', async () => {
    const { company, call } = await conversationOf()
    const [listed] = (await company.api('GET', LIST)).body.data
    const { status, body } = await call('GET')
    expect([status, body]).toEqual([200, { data: listed }])
  })

  test('answers 404 for a conversation of another company as for a missing one', async () => {
    const { chatId } = await conversationOf()
    const other = await service.createCompany()
    for (const id of [chatId, 987654321012, 'x']) {
      const { status, body } = await other.api('GET', `${LIST}/${id}`)
      expect([id, status, body]).toEqual([id, 404, NOT_FOUND])
    }
  })
})

describe('the record', () => {
  test('names the connected number that the customer wrote to', async () => {
    const { company, from } = await conversationOf()
    const second = await service.connectSender(company.companyId)
    await provider.messages(second.body.phoneNumberId, textFrom(from, 'Here too'))
    const senders = (await inboxOf(company).list()).map(({ sender }) => sender)
    expect(senders).toEqual(
      [second.body, company.sender].map(({ channelId, phoneNumber, phoneName }) => ({
        channelId,
        phoneNumber,
        phoneName,
      })),
    )
  })

  test('has a closed window 24 hours after the last message of the customer, and none before the first', async () => {
    const { company, call, chatId } = await conversationOf()
    await service.db`
      update conversations set last_inbound_at = last_inbound_at - interval '24 hours'
      where company_id = ${company.companyId} and id = ${chatId}
    `
    expect((await call('GET')).body.data.window).toEqual({ isOpen: false, closesAt: expect.stringMatching(/Z$/) })
    const { body } = await company.api('POST', '/templates/whatsapp/send', {
      recipient: uniquePhone(),
      type: 'template',
      template: { name: 'order_update', languageCode: 'it', components: UPDATE },
    })
    const written = await company.api('GET', `${LIST}/${body.data.chatId}`)
    expect(written.body.data.window).toEqual({ isOpen: false, closesAt: null })
  })

  test('has the user id of a customer who hides the phone number, and of one who shows it', async () => {
    const company = await service.createCompany()
    const [hidden, shown, phone] = ['US.13491208655302741918', 'IT.99999', uniquePhone()]
    const report = (contact: object, message: object) =>
      provider.report(bodyOf(changeOf(company.phoneNumberId, { contacts: [contact], messages: [message] })))
    const { from: _, ...text } = textFrom('', 'Hello')
    await report({ user_id: hidden, profile: { name: 'Grace' } }, { ...text, from_user_id: hidden })
    await report({ wa_id: phone, user_id: shown }, { ...textFrom(phone, 'Hi'), from_user_id: shown })
    const contacts = (await inboxOf(company).list()).map(({ contact }) => [contact.phone, contact.userId])
    expect(contacts).toEqual([
      [phone, shown],
      [null, hidden],
    ])
  })
})

describe('PATCH /public/v1/whatsapp/conversations/{chatId} with assignee', () => {
  test('assigns, keeps the assignee when it is not given, and removes it with null', async () => {
    const { company, from, call } = await conversationOf()
    const patch = async (body: object) => (await call('PATCH', '', body)).body.data.assignee
    expect(await patch({ assignee: '  Mara ' })).toBe('Mara')
    expect(await patch({ status: 'closed' })).toBe('Mara')
    await provider.messages(company.phoneNumberId, textFrom(from, 'Hello?'))
    expect((await call('GET')).body.data).toMatchObject({ assignee: 'Mara', status: 'open', unreadMessages: 2 })
    expect(await patch({ assignee: null })).toBeNull()
  })

  test.each([
    ['x'.repeat(101), 'must'],
    ['', 'must'],
    ['   ', 'must not be blank'],
    [7, 'must'],
  ])('refuses %j', async (assignee, message) => {
    const { call } = await conversationOf()
    const { status, body } = await call('PATCH', '', { assignee })
    expect([400, 422]).toContain(status)
    expect(body.error.details.fields).toEqual([{ path: 'assignee', message: expect.stringContaining(message) }])
    expect((await call('GET')).body.data.assignee).toBeNull()
  })

  test('takes 100 characters', async () => {
    const { call } = await conversationOf()
    expect((await call('PATCH', '', { assignee: '😀'.repeat(100) })).body.data.assignee).toBe('😀'.repeat(100))
  })
})

describe('POST /public/v1/whatsapp/conversations/{chatId}/messages', () => {
  const sent = async () => (await service.control('GET', '/messages')).body

  test('sends to the customer from the number of the conversation, also when another number is preferred', async () => {
    const company = await service.createCompany()
    const second = await service.connectSender(company.companyId)
    const from = uniquePhone()
    await provider.messages(second.body.phoneNumberId, textFrom(from, 'Hello'))
    const { chatId } = await inboxOf(company).find(from)
    const { status, body } = await company.api('POST', `${LIST}/${chatId}/messages`, { type: 'text', text: 'Yes' })
    expect([status, body]).toEqual([
      200,
      { success: true, data: { success: true, chatId, messageId: expect.any(Number), wamid: expect.any(String) } },
    ])
    const message = (await sent()).find(({ wamid }: { wamid: string }) => wamid === body.data.wamid)
    expect(message).toMatchObject({ phoneNumberId: second.body.phoneNumberId, to: from })
  })

  test('sends to the user id of a customer who hides the phone number', async () => {
    const company = await service.createCompany()
    const userId = 'US.42424242424242424242'
    const { from: _, ...text } = textFrom('', 'Hello')
    await provider.messages(company.phoneNumberId, { ...text, from_user_id: userId })
    const [{ chatId }] = await inboxOf(company).list()
    const { status, body } = await company.api('POST', `${LIST}/${chatId}/messages`, { type: 'text', text: 'Yes' })
    expect([status, body.data?.chatId]).toEqual([200, chatId])
  })

  test('sends a repeated request with the same Idempotency-Key once', async () => {
    const { call } = await conversationOf()
    const key = { 'idempotency-key': newWamid() }
    const first = await call('POST', '/messages', { type: 'text', text: 'Once' }, key)
    const second = await call('POST', '/messages', { type: 'text', text: 'Once' }, key)
    expect([second.status, second.body]).toEqual([first.status, first.body])
    const messages = (await call('GET', '/messages')).body.data
    expect(messages.filter(({ text }: { text: string }) => text === 'Once')).toHaveLength(1)
  })

  test('answers the errors of a send: closed window, missing text, unknown template', async () => {
    const { company, chatId, call } = await conversationOf()
    const codes = async (body: object) => {
      const answer = await call('POST', '/messages', body)
      return [answer.status, answer.body.error.code]
    }
    expect(await codes({ type: 'text' })).toEqual([400, 'bad_request'])
    expect(await codes({ type: 'text', text: 'x'.repeat(4_097) })).toEqual([422, 'validation_error'])
    expect(await codes({ type: 'template', template: { name: 'no_such' } })).toEqual([404, 'template_not_found'])
    await service.db`
      update conversations set last_inbound_at = now() - interval '2 days'
      where company_id = ${company.companyId} and id = ${chatId}
    `
    expect(await codes({ type: 'text', text: 'Late' })).toEqual([422, 'session_window_closed'])
  })

  test('answers 400 for a group and 404 for a conversation of another company', async () => {
    const { company, chatId } = await conversationOf()
    const group = { ...textFrom(uniquePhone(), 'All'), group_id: 'G1', timestamp: String(secondsNow()) }
    await provider.messages(company.phoneNumberId, group)
    const [{ chatId: groupChat }] = await inboxOf(company).list()
    const send = (api: Company['api'], id: number) =>
      api('POST', `${LIST}/${id}/messages`, { type: 'text', text: 'Hi' })
    expect((await send(company.api, groupChat)).body.error.code).toBe('bad_request')
    const other = await service.createCompany()
    const foreign = await send(other.api, chatId)
    expect([foreign.status, foreign.body]).toEqual([404, NOT_FOUND])
  })
})

describe('GET /public/v1/whatsapp/conversations/{chatId}/messages/{id}', () => {
  test('returns the message with each status that the provider reported and its deliveries', async () => {
    const company = await service.createCompany()
    const registration = await company.api('POST', '/webhooks/registrations', {
      name: 'Shop',
      url: 'https://receiver.invalid/hook',
      events: ['whatsapp.message.received'],
    })
    const { call } = await conversationOf({ company })
    const [inbound] = (await call('GET', '/messages')).body.data
    expect((await call('GET', `/messages/${inbound.id}`)).body.data).toEqual({
      message: inbound,
      statuses: [],
      deliveries: [
        {
          registrationId: registration.body.id,
          deliveryId: expect.any(Number),
          status: 'pending',
          attempts: expect.any(Number),
        },
      ],
    })
    const sent = await call('POST', '/messages', { type: 'text', text: 'Yes' })
    const { messageId, wamid } = sent.body.data
    const [at, error] = [secondsNow() - 5, { code: 131_047, title: 'Re-engagement', message: 'Re-engagement' }]
    await provider.statuses(
      company.phoneNumberId,
      { id: wamid, status: 'sent', timestamp: String(at) },
      { id: wamid, status: 'failed', timestamp: String(at + 1), errors: [error] },
    )
    const { message, statuses, deliveries } = (await call('GET', `/messages/${messageId}`)).body.data
    expect(message).toMatchObject({ id: messageId, status: 'failed' })
    const reported = { receivedAt: expect.stringMatching(/Z$/) }
    expect(statuses.sort((a: { at: string }, b: { at: string }) => a.at.localeCompare(b.at))).toEqual([
      { ...reported, status: 'sent', at: new Date(at * 1000).toISOString(), error: null },
      {
        ...reported,
        status: 'failed',
        at: new Date((at + 1) * 1000).toISOString(),
        error: expect.objectContaining({ code: 131_047 }),
      },
    ])
    expect(deliveries).toEqual([])
  })

  test('answers 404 for a message of another conversation or company as for a missing one', async () => {
    const [mine, other] = [await conversationOf(), await conversationOf()]
    const second = await conversationOf({ company: mine.company })
    const [{ id }] = (await mine.call('GET', '/messages')).body.data
    for (const [call, one] of [
      [second.call, id],
      [mine.call, 'x'],
      [mine.call, 987654321012],
    ] as const) {
      const { status, body } = await call('GET', `/messages/${one}`)
      expect([status, body]).toEqual([404, { message: 'Message not found' }])
    }
    expect((await other.company.api('GET', `${LIST}/${mine.chatId}/messages/${id}`)).body).toEqual(NOT_FOUND)
  })
})

test('GET /public/v1/me returns the company, the name and permissions of the key, and its limits', async () => {
  const { api, companyId } = await service.createCompany({ permissions: ['WhatsApp'] })
  const { status, body } = await api('GET', '/me')
  expect([status, body]).toEqual([
    200,
    {
      data: {
        company: { id: companyId, name: 'Acme' },
        name: 'Shop key',
        permissions: ['WhatsApp'],
        limits: { requestsPerMinute: 1_000_000 },
        settings: { readReceipts: true, defaultCountry: null, agentsMayErase: false },
      },
    },
  ])
  expect((await service.call(service.url, 'GET', '/public/v1/me')).status).toBe(401)
})

const UPDATE = [
  {
    type: 'BODY',
    parameters: [
      { type: 'text', text: 'Ada' },
      { type: 'text', text: '1042' },
    ],
  },
]
