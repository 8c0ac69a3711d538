import { beforeAll, describe, expect, test } from 'vitest'
import { inboxOf, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { eventually, startTestService, type TestService, uniquePhone } from '../service.ts'
import { openKeyStream } from './live-stream.ts'

const LIST = '/whatsapp/conversations'

let service: TestService
let provider: ReturnType<typeof providerOf>
beforeAll(async () => {
  service = await startTestService()
  provider = providerOf(service)
})

type Company = Awaited<ReturnType<TestService['createCompany']>>
const open = ({ key }: Company, query?: string) => openKeyStream(service.url, key.token, query)

describe('GET /public/v1/events', () => {
  test('sends the records of a message and its conversation as the lists return them', async () => {
    const company = await service.createCompany()
    const stream = await open(company)
    expect(stream.response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(from, 'Is it ready?'))
    const { chatId, message } = await stream.next('message')
    const conversation = await stream.next('conversation')
    expect(conversation).toEqual((await company.api('GET', `${LIST}/${chatId}`)).body.data)
    expect(message).toEqual((await company.api('GET', `${LIST}/${chatId}/messages`)).body.data[0])
  })

  test('sends sends, statuses, changes of a conversation and who is answering', async () => {
    const company = await service.createCompany()
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(from, 'Hello'))
    const { chatId } = await inboxOf(company).find(from)
    const stream = await open(company)
    const sent = await company.api('POST', `${LIST}/${chatId}/messages`, { type: 'text', text: 'Yes' })
    const { messageId, wamid } = sent.body.data
    const ofSent = (status: string) =>
      stream.next('message', ({ message }) => message.id === messageId && message.status === status)
    await ofSent('sent')
    await provider.statuses(company.phoneNumberId, { id: wamid, status: 'read', timestamp: String(secondsNow()) })
    await ofSent('read')
    await company.api('PATCH', `${LIST}/${chatId}`, { assignee: 'Mara' })
    await stream.next('conversation', ({ assignee }) => assignee === 'Mara')
    const answering = await company.api('POST', `${LIST}/${chatId}/answering`)
    expect([answering.status, answering.text]).toEqual([204, ''])
    expect(await stream.next('answering')).toEqual({ chatId, name: 'Shop key' })
  })

  test('sends deliveries and imports', async () => {
    const company = await service.createCompany()
    const url = 'https://receiver.invalid/hook'
    const events = ['whatsapp.message.received']
    const registration = await company.api('POST', '/webhooks/registrations', { name: 'Shop', url, events })
    const stream = await open(company)
    await provider.messages(company.phoneNumberId, textFrom(uniquePhone(), 'Hello'))
    expect(await stream.next('delivery')).toMatchObject({ registrationId: registration.body.id, status: 'pending' })
    const list = await service.call(service.url, 'POST', '/public/v1/contacts/import', 'email\nada@example.com\n', {
      authorization: `Bearer ${company.key.token}`,
      'content-type': 'text/csv',
    })
    await stream.next('import', ({ id, status }) => id === list.body.data.id && status === 'completed')
  })

  test('sends a reset after a redelivery and after an erasure', async () => {
    const company = await service.createCompany()
    const url = 'https://receiver.invalid/hook'
    const events = ['whatsapp.message.received']
    const { body: receiver } = await company.api('POST', '/webhooks/registrations', { name: 'Shop', url, events })
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(from, 'Hello'))
    const path = `/webhooks/registrations/${receiver.id}`
    await eventually(async () => (await company.api('GET', `${path}/logs`)).body.length > 0)
    const [log] = (await company.api('GET', `${path}/logs`)).body
    const redelivered = await open(company)
    await company.api('POST', `${path}/logs/${log.id}/redeliver`)
    await redelivered.next('reset')
    redelivered.stop()
    const erased = await open(company)
    const { contact } = await inboxOf(company).find(from)
    expect((await company.api('DELETE', `/contacts/${contact.id}?erase=true`)).status).toBe(200)
    await erased.next('reset')
  })

  test('sends nothing of another company', async () => {
    const [mine, other] = [await service.createCompany(), await service.createCompany()]
    const stream = await open(mine)
    await provider.messages(other.phoneNumberId, textFrom(uniquePhone(), 'Not for you'))
    await provider.messages(mine.phoneNumberId, textFrom(uniquePhone(), 'For you'))
    await stream.next('conversation')
    expect(JSON.stringify(stream.events)).not.toContain('Not for you')
  })

  test('sends only the topics that are asked for and that the key may read', async () => {
    const company = await service.createCompany()
    const stream = await open(company, '?topics=conversation')
    await provider.messages(company.phoneNumberId, textFrom(uniquePhone(), 'Hello'))
    await stream.next('conversation')
    // A message comes before the conversation that it changes, which may be sent more than once.
    expect(stream.events.map(({ event }) => event)).not.toContain('message')
    expect((await open(company, '?topics=conversation,none')).response.status).toBe(422)
    const weak = await service.createCompany({ permissions: ['Transactional'] })
    expect((await open(weak, '?topics=message')).response.status).toBe(403)
    expect((await open(weak)).response.status).toBe(200)
    expect((await openKeyStream(service.url, 'no key')).response.status).toBe(401)
  })

  test('reads many changes at once or sends a reset, and sends each record a bounded number of times', async () => {
    const company = await service.createCompany()
    const stream = await open(company, '?topics=message')
    const from = uniquePhone()
    const texts = Array.from({ length: 700 }, (_, n) => textFrom(from, `message ${n}`))
    await provider.messages(company.phoneNumberId, ...texts)
    await eventually(async () => {
      const last = stream.events.at(-1)
      return last?.event === 'reset' || last?.data.message?.text === 'message 699'
    })
    expect(stream.events.filter(({ event }) => event === 'message').length).toBeLessThanOrEqual(700)
  })

  test('ends within 5 seconds of the revocation of its key', async () => {
    const company = await service.createCompany()
    const stream = await open(company)
    await service.operator('DELETE', `/companies/${company.companyId}/api-keys/${company.key.clientId}`)
    await eventually(async () => stream.hasEnded(), 20_000)
  })

  test('refuses more than 100 streams of a key, and takes another one when one has ended', async () => {
    const company = await service.createCompany()
    const streams = await Promise.all(Array.from({ length: 100 }, () => open(company)))
    expect(streams.map(({ response }) => response.status)).toEqual(streams.map(() => 200))
    const refused = await open(company)
    expect([refused.response.status, refused.response.headers.get('retry-after')]).toEqual([429, '5'])
    streams[0]!.stop()
    await eventually(async () => (await open(company)).response.status === 200)
  })

  test('sends notices only while a stream is open', async () => {
    const company = await service.createCompany()
    const streams = await Promise.all(Array.from({ length: 2 }, () => open(company, '?topics=conversation')))
    const read = async () => {
      const [row] = await service.db`select count(*)::int as listeners from live_listeners where listens_until > now()`
      return row!.listeners as number
    }
    expect(await read()).toBe(1)
    await provider.messages(company.phoneNumberId, textFrom(uniquePhone(), 'Hello'))
    for (const stream of streams) await stream.next('conversation')
    for (const stream of streams) stream.stop()
    await eventually(async () => (await read()) === 0)
  })
})

test('a process whose listening connection was cut sends a reset, and later changes', async () => {
  const company = await service.createCompany()
  const stream = await open(company)
  const terminated = await service.db`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query ilike 'listen %'
  `
  expect(terminated.length).toBeGreaterThan(0)
  await stream.next('reset')
  await provider.messages(company.phoneNumberId, textFrom(uniquePhone(), 'After the cut'))
  await stream.next('message', ({ message }) => message.text === 'After the cut')
})
