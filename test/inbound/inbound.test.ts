import { describe, expect, test } from 'vitest'
import { bodyOf, changeOf, inboxOf, newWamid, secondsNow, textFrom, WEBHOOK } from '../provider-webhook.ts'
import { startReceiver } from '../receiver.ts'
import { uniquePhone, VERIFY_TOKEN } from '../service.ts'
import { startInbound } from './inbound-world.ts'

// Accepted bodies are counted by the ids of stored events.
const { service, company, provider, inbox } = await startInbound({ mirrors: true, storesEvents: true })

const eventCount = async () => {
  const [row] = await service.db<
    { next: number }[]
  >`select case when is_called then last_value else 0 end as next from inbound_events_id_seq`
  return row!.next
}

describe('the handshake', () => {
  const shake = (query: Record<string, string>) =>
    service.call(service.url, 'GET', `${WEBHOOK}?${new URLSearchParams(query)}`)

  test('echoes the challenge verbatim', async () => {
    const challenge = '<b>1158201444&"\''
    const answer = await shake({
      'hub.mode': 'subscribe',
      'hub.verify_token': VERIFY_TOKEN,
      'hub.challenge': challenge,
    })
    expect([answer.status, answer.text]).toEqual([200, challenge])
    expect(answer.headers.get('content-type')).toContain('text/plain')
  })

  test.each<[string, Record<string, string>]>([
    ['another token', { 'hub.mode': 'subscribe', 'hub.verify_token': 'other', 'hub.challenge': '1' }],
    ['another mode', { 'hub.mode': 'unsubscribe', 'hub.verify_token': VERIFY_TOKEN, 'hub.challenge': '1' }],
    ['no token', { 'hub.mode': 'subscribe', 'hub.challenge': '1' }],
    ['nothing', {}],
  ])('is refused with %s', async (_, query) => {
    const answer = await shake(query)
    expect([answer.status, answer.body.error.code]).toEqual([403, 'forbidden'])
  })

  test('is refused when the token comes twice', async () => {
    const query = `hub.mode=subscribe&hub.verify_token=${VERIFY_TOKEN}&hub.verify_token=x&hub.challenge=1`
    expect((await service.call(service.url, 'GET', `${WEBHOOK}?${query}`)).status).toBe(403)
  })
})

describe('a body is stored and answered 200', () => {
  const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
    fetch(`${service.url}${WEBHOOK}`, { method: 'POST', body: new Uint8Array(Buffer.from(body)), headers })

  test.each<[string, string | Buffer, Record<string, string>]>([
    ['that is no JSON', 'not json', { 'content-type': 'application/json' }],
    ['that is empty', '', {}],
    ['that is binary', Buffer.from([0, 255, 254, 0]), { 'content-type': 'application/octet-stream' }],
    ['of a form', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['of an odd content type', '{}', { 'content-type': 'x/y; charset=nothing' }],
    ['that is an array', '[]', { 'content-type': 'application/json' }],
    ['with a NUL within a number', '{"phone_number_id":"1\x02"}', { 'content-type': 'application/json' }],
    ['with a number that is a star', '{"a":{"phone_number_id":"1"},"b":{"phone_number_id":"*"}}', {}],
    ['of an unknown kind', '{"event":"channel_created","data":{}}', { 'content-type': 'application/json' }],
  ])('%s', async (_, body, headers) => {
    const before = await eventCount()
    const answer = await post(body, headers)
    expect([answer.status, await answer.json()]).toEqual([200, { success: true }])
    expect(await eventCount()).toBeGreaterThan(before)
    await provider.handled()
  })

  test('of four megabytes, and of one byte more it is answered 413', async () => {
    const whole = Buffer.alloc(4 * 1024 * 1024, ' ')
    expect((await post(whole)).status).toBe(200)
    const before = await eventCount()
    const over = await post(Buffer.concat([whole, Buffer.from(' ')]))
    expect([over.status, ((await over.json()) as { error: { code: string } }).error.code]).toEqual([
      413,
      'payload_too_large',
    ])
    expect(await eventCount()).toBe(before)
    await provider.handled()
  })

  test('that names ten thousand numbers, without being stored ten thousand times', async () => {
    const before = await eventCount()
    const names = Array.from({ length: 10_000 }, (_, n) => `{"phone_number_id":"9${n}"}`)
    expect((await post(`[${names.join(',')}]`)).status).toBe(200)
    expect((await eventCount()) - before).toBeLessThanOrEqual(64)
    await provider.handled()
  })

  test('and what is unreadable is listed as failed', async () => {
    await provider.report('{"broken":')
    const [failed] = await provider.deadLetters('failed')
    expect(failed).toMatchObject({ reason: 'the body is not JSON', body: '{"broken":' })
  })
})

describe('order and number', () => {
  test('many posts at once: each message once, under its customer, in the order in which it was posted', async () => {
    const customers = Array.from({ length: 8 }, uniquePhone)
    const seen: string[][] = await Promise.all(
      customers.map(async (from, place) => {
        const texts: string[] = []
        for (let n = 0; n < 12; n += 1) {
          const own = textFrom(from, `${from} ${n}`)
          // Every post also repeats a message of a neighbour.
          const again = textFrom(customers[(place + 1) % 8]!, 'repeated', { id: `wamid.neighbour.${place}` })
          const answer = await provider.post(
            bodyOf(changeOf(company.phoneNumberId, { messages: n === 0 ? [own] : [own, again] })),
          )
          expect(answer.status).toBe(200)
          texts.push(own.text.body)
        }
        return texts
      }),
    )
    await provider.handled()
    for (const [place, from] of customers.entries()) {
      const texts = await inbox.texts(from)
      expect(texts.filter((text) => text !== 'repeated')).toEqual(seen[place])
      expect(texts.filter((text) => text === 'repeated')).toHaveLength(1)
    }
  })

  test('a body of five hundred messages of fifty customers', async () => {
    const customers = Array.from({ length: 50 }, uniquePhone)
    const messages = Array.from({ length: 500 }, (_, n) => textFrom(customers[n % 50]!, `n${n}`))
    await provider.messages(company.phoneNumberId, ...messages)
    for (const [place, from] of customers.entries()) {
      expect(await inbox.texts(from)).toEqual(Array.from({ length: 10 }, (_, n) => `n${place + n * 50}`))
    }
    // Ids are cursors: within a conversation they grow with its entries.
    const disordered = await service.db`
      select
      from (
        select id, lag(id) over (partition by company_id, conversation_id order by seq) as id_before
        from messages
      ) as message
      where id < id_before
    `
    expect(disordered).toHaveLength(0)
  })

  test('the same message again, the same body again, and twice in one body, is one message', async () => {
    const from = uniquePhone()
    const message = textFrom(from, 'once')
    const body = bodyOf(changeOf(company.phoneNumberId, { messages: [message, message] }))
    await provider.report(body)
    await provider.report(body)
    await Promise.all([provider.report(body), provider.report(body)])
    expect(await inbox.texts(from)).toEqual(['once'])
    expect(await inbox.find(from)).toMatchObject({ unreadMessages: 1, lastMessage: { text: 'once' } })
  })

  test('a message without an id is stored and delivered once, also when its body comes again', async () => {
    const receiver = await startReceiver()
    const registration = { name: 'idless', url: receiver.url, events: ['whatsapp.message.received'] }
    const { body: registered } = await company.api('POST', '/webhooks/registrations', registration)
    const from = uniquePhone()
    const [first, second] = ['first', 'second'].map((text) => textFrom(from, text, { id: undefined }))
    const body = bodyOf(changeOf(company.phoneNumberId, { messages: [first, second] }))
    await provider.report(body)
    await provider.report(body)
    const { chatId, unreadMessages } = await inbox.find(from)
    const messages = await inbox.messages(chatId)
    expect(messages.map(({ text }) => text)).toEqual(['second', 'first'])
    expect(unreadMessages).toBe(2)
    await expect.poll(() => receiver.received.length).toBe(2)
    const delivered = receiver.received.map(({ body }) => JSON.parse(String(body)).message.wamid)
    expect(delivered.sort()).toEqual(messages.map(({ wamid }) => wamid).sort())
    await company.api('DELETE', `/webhooks/registrations/${registered.id}`)
  })

  test('milliseconds, a missing name and an unknown type are read', async () => {
    const from = uniquePhone()
    const seconds = secondsNow() - 60
    await provider.messages(company.phoneNumberId, {
      ...textFrom(from, ''),
      type: 'hologram',
      text: undefined,
      hologram: {},
      timestamp: String(seconds * 1000 + 7),
    })
    const conversation = await inbox.find(from)
    expect(conversation.contact.name).toBeNull()
    expect(await inbox.messages(conversation.chatId)).toMatchObject([
      { type: 'text', text: '[hologram]', timestamp: seconds, status: 'received', senderName: null },
    ])
  })
})

describe('several companies in one body', () => {
  test('see nothing of each other', async () => {
    const other = await service.createCompany()
    const [from, shared] = [uniquePhone(), newWamid()]
    await provider.report(
      bodyOf(
        changeOf(company.phoneNumberId, { messages: [textFrom(from, 'for one', { id: shared })] }),
        changeOf(other.phoneNumberId, { messages: [textFrom(from, 'for the other', { id: shared })] }),
        changeOf(company.phoneNumberId, { messages: [textFrom(from, 'for one again')] }),
      ),
    )
    expect(await inbox.texts(from)).toEqual(['for one', 'for one again'])
    expect(await inboxOf(other).texts(from)).toEqual(['for the other'])
    const { chatId } = await inboxOf(other).find(from)
    const foreign = await company.api('GET', `/whatsapp/conversations/${chatId}/messages`)
    expect([foreign.status, foreign.body]).toEqual([404, { message: 'Conversation not found' }])
  })
})
