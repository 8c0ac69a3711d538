import { beforeAll, expect, test } from 'vitest'
import { inboxOf, providerOf, textFrom } from './provider-webhook.ts'
import { startTestService, type TestService, uniquePhone } from './service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})

test('a number that its company removed and connects again keeps channel, conversation, window and ledger', async () => {
  const company = await service.createCompany({ sender: { tier: 2 } })
  const { companyId, phoneNumberId, sender } = company
  const provider = providerOf(service)
  const inbox = inboxOf(company)
  const from = uniquePhone()
  await provider.messages(phoneNumberId, textFrom(from, 'before'))
  const template = { recipient: uniquePhone(), type: 'template', template: { name: 'shipping_notice' } }
  expect((await company.api('POST', '/templates/whatsapp/send', template)).status).toBe(200)
  const before = await inbox.find(from)
  const ledger = () => service.db`select * from sender_reach where company_id = ${companyId} order by ordinal`
  const reached = await ledger()
  expect(reached).toHaveLength(1)

  const path = `/companies/${companyId}/senders`
  await service.operator('DELETE', `${path}/${sender.channelId}`)
  await provider.messages(phoneNumberId, textFrom(from, 'meanwhile'))
  const again = await service.operator('POST', path, {
    provider: 'meta',
    phoneNumber: sender.phoneNumber,
    phoneName: 'Acme again',
    phoneNumberId,
    wabaAccountId: sender.wabaAccountId,
    accessToken: 'token-of-the-number',
    apiBaseUrl: service.sandbox.url,
  })
  expect([again.status, again.body.channelId, again.body.tier]).toEqual([201, sender.channelId, 2])
  expect(again.body.phoneName).toBe('Acme again')
  await provider.handled()
  expect(await inbox.texts(from)).toEqual(['before', 'meanwhile'])
  expect(await ledger()).toEqual(reached)
  const answer = { recipient: from, type: 'text', text: 'The window is open' }
  const sent = await company.api('POST', '/templates/whatsapp/send', answer)
  expect([sent.status, sent.body.data?.chatId]).toEqual([200, before.chatId])
})

test('a number that another company had is a new channel', async () => {
  const first = await service.createCompany()
  await service.operator('DELETE', `/companies/${first.companyId}/senders/${first.sender.channelId}`)
  const second = await service.createCompany({ sender: { phoneNumberId: first.phoneNumberId } })
  expect(second.sender.channelId).not.toBe(first.sender.channelId)
  expect(await inboxOf(second).list()).toEqual([])
})
