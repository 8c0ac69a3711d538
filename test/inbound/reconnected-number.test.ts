import { beforeAll, expect, test } from 'vitest'
import { inboxOf, newWamid, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { eventually, startTestService, type TestService, uniquePhone } from '../service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
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
  const ledger = () =>
    service.db`select * from daily_limit_entries where company_id = ${companyId} order by customer_id`
  const recorded = await ledger()
  expect(recorded).toHaveLength(1)

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
  expect(await ledger()).toEqual(recorded)
  const answer = { recipient: from, type: 'text', text: 'The window is open' }
  const sent = await company.api('POST', '/templates/whatsapp/send', answer)
  expect([sent.status, sent.body.data?.chatId]).toEqual([200, before.chatId])
})

test('media that waited when its number was removed are copied once the number is connected again', async () => {
  const company = await service.createCompany()
  const { companyId, phoneNumberId, sender } = company
  const bytes = new TextEncoder().encode('the bytes of an image')
  const upload = await fetch(`${service.sandbox.url}/v25.0/${phoneNumberId}/media`, {
    method: 'POST',
    headers: { authorization: 'Bearer token', 'content-type': 'image/png' },
    body: bytes,
  })
  const { id } = (await upload.json()) as { id: string }
  const attempts = async () => (await service.db`select attempts, state from media where company_id = ${companyId}`)[0]
  const tryNow = () => service.db`
    update jobs set due_at = now() where company_id = ${companyId} and kind = 'media.copy' and claim_id is null
  `
  const from = uniquePhone()
  const image = {
    from,
    id: newWamid(),
    timestamp: String(secondsNow()),
    type: 'image',
    image: { id, mime_type: 'image/png' },
  }
  await service.db.begin(async (tx) => {
    // The lock of claimJobs: no copy begins before the number is removed.
    await tx`select pg_advisory_xact_lock(hashtextextended('media.copy', 7237455202))`
    await providerOf(service).messages(phoneNumberId, image)
    await service.operator('DELETE', `/companies/${companyId}/senders/${sender.channelId}`)
  })
  await eventually(async () => (await attempts())?.attempts === 1)
  expect(await attempts()).toMatchObject({ state: 'pending' })

  await service.operator('POST', `/companies/${companyId}/senders`, {
    ...{ provider: 'meta', phoneNumber: sender.phoneNumber, phoneName: 'Acme', phoneNumberId },
    ...{ wabaAccountId: sender.wabaAccountId, accessToken: 'token', apiBaseUrl: service.sandbox.url },
  })
  await eventually(async () => {
    await tryNow()
    return (await attempts())?.state === 'stored'
  })
  const inbox = inboxOf(company)
  const { chatId } = await inbox.find(from)
  const [message] = await inbox.messages(chatId)
  const served = await fetch(new URL(new URL(message.media.url).pathname, service.url))
  expect([served.status, await served.text()]).toEqual([200, 'the bytes of an image'])
})

test('a number that another company had is a new channel', async () => {
  const first = await service.createCompany()
  await service.operator('DELETE', `/companies/${first.companyId}/senders/${first.sender.channelId}`)
  const second = await service.createCompany({ sender: { phoneNumberId: first.phoneNumberId } })
  expect(second.sender.channelId).not.toBe(first.sender.channelId)
  expect(await inboxOf(second).list()).toEqual([])
})
