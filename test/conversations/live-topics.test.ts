import { beforeAll, describe, expect, test } from 'vitest'
import { recordStatuses } from '../../src/conversations/recording/status-store.ts'
import { bodyOf, changeOf, inboxOf, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { DEMO_ACCOUNT, startTestService, type TestService, uniquePhone } from '../service.ts'
import { statusRecord } from '../world.ts'
import { openKeyStream } from './live-stream.ts'

const RECEIVER = { name: 'Shop', url: 'https://receiver.invalid/hook', events: ['whatsapp.message.received'] }

let service: TestService
let provider: ReturnType<typeof providerOf>
beforeAll(async () => {
  service = await startTestService()
  provider = providerOf(service)
})

type Company = Awaited<ReturnType<TestService['createCompany']>>
const open = ({ key }: Company, query?: string) => openKeyStream(service.url, key.token, query)

/** A stream that has got every earlier event. */
async function openQuiet(company: Company) {
  const stream = await open(company)
  const email = `${uniquePhone()}@example.com`
  await company.api('POST', '/contacts', { email })
  await stream.next('contact', (one) => one.email === email)
  stream.events.length = 0
  return stream
}

test('the live stream names the conversation whose scheduled messages change', async () => {
  const company = await service.createCompany()
  const phone = uniquePhone()
  await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
  const { chatId } = await inboxOf(company).find(phone)
  const stream = await open(company, '?topics=scheduled')
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  const reply = { type: 'text', text: 'Your table is ready', sendAt }
  const { body } = await company.api('POST', `/whatsapp/conversations/${chatId}/messages`, reply)
  expect(await stream.next('scheduled')).toEqual({ chatId })
  await company.api('DELETE', `/whatsapp/scheduled-messages/${body.data.id}`)
  expect(await stream.next('scheduled')).toEqual({ chatId })
})

describe('the live stream sends contacts', () => {
  test('that are created, updated, or deleted by the API, with the conversations that show them', async () => {
    const company = await service.createCompany()
    const phone = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    const { contact } = await inboxOf(company).find(phone)
    const stream = await open(company)
    await company.api('POST', '/contacts', { phone, firstName: 'Ada' })
    const record = (await company.api('GET', `/contacts/${contact.id}`)).body.data
    expect(await stream.next('contact')).toEqual(record)
    await stream.next('conversation', (one) => one.contact.name === 'Ada')
    await company.api('PUT', `/contacts/${contact.id}`, { lastName: 'Rossi' })
    await stream.next('contact', ({ last_name }) => last_name === 'Rossi')
    await stream.next('conversation', (one) => one.contact.name === 'Ada Rossi')
    await company.api('DELETE', `/contacts/${contact.id}`)
    expect(await stream.next('contact', ({ deleted }) => deleted)).toEqual({ id: contact.id, deleted: true })
  })

  test('whose consent a customer changes at the provider', async () => {
    const company = await service.createCompany()
    const phone = uniquePhone()
    await company.api('POST', '/contacts', { phone })
    const stream = await open(company, '?topics=contact')
    const preference = { wa_id: phone, category: 'marketing_messages', value: 'stop', timestamp: secondsNow() }
    await provider.report(
      bodyOf(changeOf(company.phoneNumberId, { user_preferences: [preference] }, 'user_preferences')),
    )
    await stream.next('contact', ({ marketing_consent }) => marketing_consent.whatsapp === false)
  })

  test('that a key without WhatsApp may read, but not of conversations', async () => {
    const company = await service.createCompany({ permissions: ['Transactional'] })
    const stream = await open(company)
    const phone = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    await company.api('POST', '/contacts', { phone, firstName: 'Ada' })
    await stream.next('contact', ({ first_name }) => first_name === 'Ada')
    expect(stream.events.map(({ event }) => event)).not.toContain('conversation')
  })

  test('that are many at once by a reset', async () => {
    const company = await service.createCompany({ isConnected: false })
    const stream = await open(company)
    const rows = Array.from({ length: 700 }, (_, n) => ({ email: `${n}@example.com` }))
    await company.api('POST', '/contacts', rows)
    await stream.next('reset')
    expect(stream.events.map(({ event }) => event)).not.toContain('contact')
  })

  test('that an import writes by a reset', async () => {
    const company = await service.createCompany({ isConnected: false })
    const stream = await open(company)
    const answer = await service.call(service.url, 'POST', '/public/v1/contacts/import', 'email\nada@example.com\n', {
      authorization: `Bearer ${company.key.token}`,
      'content-type': 'text/csv',
    })
    await stream.next('import', ({ id, status }) => id === answer.body.data.id && status === 'completed')
    await stream.next('reset')
    expect(stream.events.map(({ event }) => event)).not.toContain('contact')
  })
})

describe('the live stream sends messages', () => {
  test('that a customer reacts to, edits, or revokes', async () => {
    const company = await service.createCompany()
    const from = uniquePhone()
    const [first, second] = [textFrom(from, 'Hello'), textFrom(from, 'secret')]
    await provider.messages(company.phoneNumberId, first, second)
    const stream = await open(company)
    const post = (item: object) => provider.messages(company.phoneNumberId, { ...textFrom(from, ''), ...item })
    await post({ type: 'reaction', reaction: { message_id: first.id, emoji: '👍' } })
    await stream.next('message', ({ message }) => message.wamid === first.id && message.reaction === '👍')
    const edit = { original_message_id: first.id, message: { type: 'text', text: { body: 'Hi' } } }
    await post({ type: 'edit', text: undefined, edit })
    await stream.next('message', ({ message }) => message.text === 'Hi')
    await post({ type: 'revoke', text: undefined, revoke: { original_message_id: second.id } })
    await stream.next('message', ({ message }) => message.text === '[revoked]')
    await stream.next('conversation', ({ lastMessage }) => lastMessage.text === '[revoked]')
  })

  test('whose status was reported before the message was known', async () => {
    const company = await service.createCompany()
    const phone = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    const { chatId } = await inboxOf(company).find(phone)
    const path = `/whatsapp/conversations/${chatId}/messages`
    const { messageId } = (await company.api('POST', path, { type: 'text', text: 'Hi' })).body.data
    const { companyId } = company
    const early = statusRecord({
      ...{ companyId, senderId: Number(company.sender.channelId), status: 'read', providerMessageId: 'early' },
    })
    await recordStatuses(service.db, [early], new Date())
    const stream = await open(company)
    await service.db`
      update messages set provider_message_id = 'early' where company_id = ${companyId} and id = ${messageId}
    `
    await stream.next('message', ({ message }) => message.id === messageId && message.status === 'read')
  })

  test('of a customer whose number changes, by a reset', async () => {
    const company = await service.createCompany()
    const [from, to] = [uniquePhone(), uniquePhone()]
    await provider.messages(company.phoneNumberId, textFrom(from, 'Hello'))
    const stream = await openQuiet(company)
    const system = { type: 'user_changed_number', body: 'changed', wa_id: to }
    await provider.messages(company.phoneNumberId, { ...textFrom(from, ''), type: 'system', text: undefined, system })
    await stream.next('reset')
    expect(await inboxOf(company).find(to)).toBeDefined()
  })
})

describe('the live stream sends deliveries', () => {
  test('as soon as they are enqueued, and when they are skipped', async () => {
    const company = await service.createCompany()
    const { body: receiver } = await company.api('POST', '/webhooks/registrations', RECEIVER)
    const stream = await open(company, '?topics=delivery')
    await provider.messages(company.phoneNumberId, textFrom(uniquePhone(), 'Hello'))
    const { id } = await stream.next('delivery', ({ status, attempts }) => status === 'pending' && attempts === 1)
    await company.api('PUT', `/webhooks/registrations/${receiver.id}`, { ...RECEIVER, status: 'inactive' })
    await service.db`update deliveries set due_at = now() where (company_id, id) = (${company.companyId}, ${id})`
    await stream.next('delivery', (one) => one.id === id && one.status === 'skipped')
  })
})

test('the live stream sends an import that is cancelled', async () => {
  const company = await service.createCompany({ isConnected: false })
  const stream = await open(company)
  // Without a job, so that it waits.
  const [waiting] = await service.db<{ id: number }[]>`
    insert into contact_imports (company_id, format, columns, size_bytes, rows, read_bytes, read_lines)
    values (${company.companyId}, 'csv', '{email}', 1, 0, 0, 0)
    returning id
  `
  await company.api('DELETE', `/contacts/imports/${waiting!.id}`)
  await stream.next('import', ({ id, status }) => id === waiting!.id && status === 'cancelled')
})

describe('the live stream sends a reset', () => {
  test.each([
    ['a number is connected', ({ companyId }: Company) => service.connectSender(companyId)],
    [
      'the templates are synced',
      ({ companyId }: Company) => service.operator('POST', `/companies/${companyId}/templates/sync`),
    ],
  ])('when %s', async (_, change) => {
    const company = await service.createCompany({ isConnected: false })
    const stream = await open(company)
    expect((await change(company)).status).toBeLessThan(300)
    await stream.next('reset')
  })

  test('when a registration is created, updated, or deleted', async () => {
    const company = await service.createCompany({ isConnected: false })
    const stream = await open(company)
    const { body: receiver } = await company.api('POST', '/webhooks/registrations', RECEIVER)
    await stream.next('reset')
    const path = `/webhooks/registrations/${receiver.id}`
    for (const [method, body] of [['PUT', { ...RECEIVER, name: 'Store' }], ['DELETE']] as const) {
      stream.events.length = 0
      expect((await company.api(method, path, body)).status).toBe(200)
      await stream.next('reset')
    }
  })

  test('when the provider changes a template', async () => {
    const company = await service.createCompany()
    const stream = await openQuiet(company)
    const value = {
      event: 'REJECTED',
      message_template_name: 'shipping_notice',
      message_template_language: 'en_US',
      reason: 'SCAM',
    }
    const changes = [{ field: 'message_template_status_update', value }]
    await provider.report({ entry: [{ id: DEMO_ACCOUNT, time: secondsNow(), changes }] })
    await stream.next('reset')
  })
})
