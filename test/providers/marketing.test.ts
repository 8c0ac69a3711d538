import { describe, expect, test } from 'vitest'
import type { ProviderName } from '../../src/providers/provider-name.ts'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { secondsNow } from '../provider-webhook.ts'
import { eventually, uniquePhone } from '../service.ts'
import { SEND, startTransports } from './transports-world.ts'

// The address for marketing templates, and messages outside the window without a template, on every transport.
const { service, numberAt, connected } = await startTransports({ legacyRemovalDate: new Date('2099-01-01') })
const { control, operator, call } = service
type Connected = Awaited<ReturnType<typeof connected>>

const NEWS = {
  type: 'template',
  template: { name: 'news', components: [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }] },
}
const PARCEL = { type: 'template', template: { name: 'parcel_left' } }

/** A customer whose window is open, and the conversation. */
async function written(number: Connected) {
  const from = uniquePhone()
  const input = { phoneNumberId: number.phoneNumberId, from, type: 'text', text: { body: 'Hi' } }
  const { wamid } = (await control('POST', '/inbound', input)).body
  const row = await eventually(async () => {
    const rows = await service.db`
      select conversation_id from messages where company_id = ${number.companyId} and wamid = ${wamid}
    `
    return rows[0]
  })
  return { from, chatId: Number(row.conversationId) }
}

/** Where the provider took the last message to a recipient. */
async function placeOf(recipient: string) {
  const { body } = await control('GET', '/messages?limit=500')
  const found = body.find((message: { to: string }) => message.to === recipient)
  return found && (found.isMarketing ? 'marketing' : 'messages')
}

async function sendNews(number: Connected, content: object = NEWS) {
  const { from: recipient } = await written(number)
  const { status, body } = await number.api('POST', SEND, { recipient, ...content })
  expect([status, body.error]).toEqual([200, undefined])
  return placeOf(recipient)
}

const accountOf = ({ wabaAccountId }: { wabaAccountId: string }) => `/accounts/${wabaAccountId}`
const change = async (number: Connected, input: object) => {
  const { status, body } = await operator('PATCH', `${number.path}/${number.sender.channelId}`, input)
  expect([status, body.error]).toEqual([200, undefined])
  return body
}
const senderOf = async (number: Connected) =>
  (await operator('GET', `${number.path}/${number.sender.channelId}`)).body as Record<string, unknown>
const isSigned = (number: Connected, expected: boolean) =>
  eventually(async () => (await senderOf(number)).marketingTermsSigned === expected)

/** Signs the terms; where no event says so, the operator does. */
async function sign(number: Connected, provider: ProviderName) {
  await control('PUT', accountOf(number), { marketingTerms: true })
  if (provider === 'gupshup') await change(number, { marketingAddress: 'marketing' })
  else await isSigned(number, true)
  // Other processes of a service know a number for 3 s, this one until the next change.
  service.deps.senders.drop(number.companyId)
}

describe.each(PROVIDER_NAMES)('marketing through %s', (provider) => {
  test('goes with all other messages until the account has signed the terms, then to the address for it', async () => {
    const number = await connected(provider)
    expect(number.sender).toMatchObject({ marketingAddress: 'auto', marketingTermsSigned: false })
    expect(await sendNews(number)).toBe('messages')
    await sign(number, provider)
    expect(await sendNews(number)).toBe('marketing')
    expect(await sendNews(number, PARCEL)).toBe('messages')
    expect(await sendNews(number, { type: 'text', text: 'Hello' })).toBe('messages')
  })

  test('is named by statuses like every other message', async () => {
    const number = await connected(provider)
    await sign(number, provider)
    const { from: recipient } = await written(number)
    const { body } = await number.api('POST', SEND, { recipient, ...NEWS })
    const taken = (await control('GET', '/messages?limit=500')).body.find(({ to }: { to: string }) => to === recipient)
    await control('POST', '/status', { wamid: taken.wamid, status: 'delivered' })
    await eventually(async () => {
      const [row] = await service.db`
        select status from messages where company_id = ${number.companyId} and id = ${body.data.messageId}
      `
      return row?.status === 'delivered'
    })
  })

  test('goes there in a reply, over the legacy address and at a later time, too', async () => {
    const number = await connected(provider)
    await sign(number, provider)
    const reply = await written(number)
    await number.api('POST', `/whatsapp/conversations/${reply.chatId}/messages`, NEWS)
    expect(await placeOf(reply.from)).toBe('marketing')

    const { from: recipient } = await written(number)
    const token = { authorization: `Bearer ${number.key.token}` }
    const path = '/api/transactionals/whatsapp/send'
    const legacy = await call(service.url, 'POST', path, { recipient, ...NEWS }, token)
    expect([legacy.status, legacy.body.error]).toEqual([200, undefined])
    expect(await placeOf(recipient)).toBe('marketing')

    const later = await written(number)
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const scheduled = await number.api('POST', SEND, { recipient: later.from, ...NEWS, sendAt })
    expect(scheduled.status).toBe(202)
    await service.db`update jobs set due_at = now() where kind = 'message.send' and company_id = ${number.companyId}`
    expect(await eventually(() => placeOf(later.from))).toBe('marketing')
  })

  test('goes where the operator says', async () => {
    const number = await connected(provider)
    await sign(number, provider)
    await change(number, { marketingAddress: 'messages' })
    expect(await sendNews(number)).toBe('messages')
    await change(number, { marketingAddress: 'marketing' })
    expect(await sendNews(number)).toBe('marketing')
  })

  test('that is refused at the address for it goes with all other messages, unless the operator chose the address', async () => {
    const number = await connected(provider)
    await service.db`
      update senders set marketing_terms_signed = true where company_id = ${number.companyId}
    `
    service.deps.senders.drop(number.companyId)
    expect(await sendNews(number)).toBe('messages')
    await change(number, { marketingAddress: 'marketing' })
    const { from: recipient } = await written(number)
    const { status, body } = await number.api('POST', SEND, { recipient, ...NEWS })
    expect([status, body]).toEqual([500, { error: 'Failed to send the message' }])
    expect(await placeOf(recipient)).toBeUndefined()
  })

  const categories = { category: 'utility', ttlSeconds: 600 }
  const buttons = {
    type: 'button',
    body: { text: 'Is Friday fine?' },
    action: { buttons: [{ type: 'reply', reply: { id: 'y', title: 'Yes' } }] },
  }
  test('a text with a category needs no window, where the account may send such', async () => {
    const number = await connected(provider)
    const text = { type: 'text', text: 'Your parcel arrives today.', ...categories }
    const off = await number.api('POST', SEND, { recipient: uniquePhone(), ...text })
    expect([off.status, off.body.error.details]).toEqual([
      422,
      {
        fields: [
          { path: 'category', message: 'is not allowed: Direct Send is not switched on for the sending number' },
        ],
      },
    ])
    await change(number, { directSend: true })
    const refused = await number.api('POST', SEND, { recipient: uniquePhone(), ...text })
    expect([refused.status, refused.body]).toEqual([400, { error: '(#100) Invalid parameter' }])
    await control('PUT', accountOf(number), { directSend: true })
    for (const content of [text, { type: 'interactive', interactive: buttons, ...categories }]) {
      const recipient = uniquePhone()
      const { status, body } = await number.api('POST', SEND, { recipient, ...content })
      expect([status, body.error]).toEqual([200, undefined])
      const taken = (await control('GET', '/messages?limit=500')).body.find(
        (one: { to: string }) => one.to === recipient,
      )
      expect(taken.body).toMatchObject({ category: 'utility', ttl_seconds: 600, type: content.type })
    }
    await control('PUT', '/behaviour', { refuseWithCode: 139200 })
    const blocked = await number.api('POST', SEND, { recipient: uniquePhone(), ...text })
    await control('PUT', '/behaviour', { refuseWithCode: null })
    expect([blocked.status, blocked.body.error.details.fields[0].path]).toEqual([422, 'category'])
  })
})

test('of an account that has signed already, Meta says so when its number is connected', async () => {
  const number = await numberAt('meta')
  await control('PUT', accountOf(number), { marketingTerms: true })
  const { companyId } = await service.createCompany({ isConnected: false })
  const path = `/companies/${companyId}/senders`
  const { body } = await operator('POST', path, number.body)
  expect((await operator('GET', `${path}/${body.channelId}`)).body).toMatchObject({ marketingTermsSigned: true })
})

test('what Meta says at the sync of templates counts from then on, and no older event', async () => {
  const number = await connected('meta')
  await sign(number, 'meta')
  await control('PUT', accountOf(number), { marketingTerms: false })
  await operator('POST', `/companies/${number.companyId}/templates/sync`)
  expect(await senderOf(number)).toMatchObject({ marketingTermsSigned: false })
  const event = (time: number) =>
    control('POST', '/raw', {
      body: {
        object: 'whatsapp_business_account',
        entry: [
          {
            id: '400000000000001',
            time,
            changes: [
              {
                field: 'account_update',
                value: { event: 'MM_LITE_TERMS_SIGNED', waba_info: { waba_id: number.wabaAccountId } },
              },
            ],
          },
        ],
      },
    })
  await event(secondsNow() - 3_600)
  await eventually(async () => {
    const { body } = await operator('GET', `/companies/${number.companyId}/account-events`)
    return body.length === 2
  })
  expect(await senderOf(number)).toMatchObject({ marketingTermsSigned: false })
  await event(secondsNow() + 60)
  await isSigned(number, true)
})

test('an event about the terms proves the secret of the account that it names', async () => {
  const number = await connected('meta', { appSecret: 'the-secret-of-the-app' })
  const value = { event: 'MM_LITE_TERMS_SIGNED', waba_info: { waba_id: number.wabaAccountId } }
  const entry = [{ id: '400000000000001', time: secondsNow() + 60, changes: [{ field: 'account_update', value }] }]
  const { body } = await control('POST', '/raw', { body: { object: 'whatsapp_business_account', entry } })
  expect(body).toMatchObject({ delivered: false, statusCode: 401 })
  expect(await senderOf(number)).toMatchObject({ marketingTermsSigned: false })
})

test('a number that moves to another account has the terms of that account', async () => {
  const number = await connected('dialog360')
  await sign(number, 'dialog360')
  const other = await numberAt('dialog360')
  expect(await change(number, { wabaAccountId: other.wabaAccountId })).toMatchObject({ marketingTermsSigned: false })
})

test.each([
  [{ type: 'image', media: { link: 'https://example.com/a.jpg' }, category: 'utility' }, 400, 'category'],
  [{ ...PARCEL, category: 'utility' }, 400, 'category'],
  [{ type: 'text', text: 'x', ttlSeconds: 60 }, 400, 'ttlSeconds'],
  [{ type: 'text', text: 'x'.repeat(1_025), category: 'utility' }, 422, 'text'],
  [{ type: 'text', text: 'x', category: 'marketing' }, 422, 'category'],
  [{ type: 'text', text: 'x', category: 'utility', ttlSeconds: 29 }, 422, 'ttlSeconds'],
  [{ type: 'text', text: 'x', category: 'utility', ttlSeconds: 43_201 }, 422, 'ttlSeconds'],
  [{ type: 'text', text: 'x', category: 'authentication', ttlSeconds: 901 }, 422, 'ttlSeconds'],
  [
    {
      type: 'interactive',
      interactive: { type: 'location_request_message', body: { text: 'Where?' }, action: { name: 'send_location' } },
      category: 'utility',
    },
    422,
    'category',
  ],
])('%j is refused before the provider is asked', async (content, expected, path) => {
  const number = await connected('meta', { directSend: true })
  const { status, body } = await number.api('POST', SEND, { recipient: uniquePhone(), ...content })
  expect([status, body.error.details.fields.map((field: { path: string }) => field.path)]).toEqual([expected, [path]])
})
