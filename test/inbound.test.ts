import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, changeOf, inboxOf, newWamid, providerOf, secondsNow, textFrom, WEBHOOK } from './provider-webhook.ts'
import { startReceiver } from './receiver.ts'
import { startTestService, type TestService, uniquePhone, VERIFY_TOKEN } from './service.ts'

let service: TestService
let company: Awaited<ReturnType<TestService['createCompany']>>
let provider: ReturnType<typeof providerOf>
let inbox: ReturnType<typeof inboxOf>
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
  company = await service.createCompany()
  provider = providerOf(service)
  inbox = inboxOf(company)
})

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
    await provider.tell('{"broken":')
    const [failed] = await provider.deadLetters('failed')
    expect(failed).toMatchObject({ reason: 'the body is not JSON', body: '{"broken":' })
  })
})

describe('signatures', () => {
  const sign = (body: string, secret: string) => ({
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  })
  const textBody = (...numbers: string[]) => {
    const from = uniquePhone()
    return JSON.stringify(
      bodyOf(...numbers.map((number) => changeOf(number, { messages: [textFrom(from, 'Caffè 👍 a/b')] }))),
    )
  }
  const statusOf = async (body: string, headers: Record<string, string> = {}) => {
    const before = await eventCount()
    const { status } = await provider.post(body, headers)
    expect((await eventCount()) > before).toBe(status === 200)
    await provider.handled()
    return status
  }
  const signed = (appSecret: string) => service.createCompany({ sender: { appSecret } })
  const setSecret = async ({ companyId, sender }: Awaited<ReturnType<typeof signed>>, appSecret: string | null) => {
    const path = `/companies/${companyId}/senders/${sender.channelId}`
    expect((await service.operator('PATCH', path, { appSecret })).status).toBe(200)
  }

  test('from the first secret on nothing unsigned is taken', async () => {
    const made = await service.createCompany()
    const bodies = Array.from({ length: 21 }, () => textBody(made.phoneNumberId))
    expect(await statusOf(bodies.pop()!)).toBe(200)
    await setSecret(made, 'the-first-one')
    const answers = await Promise.all(bodies.map((body) => provider.post(body)))
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 401))
    const later = textBody(made.phoneNumberId)
    expect(await statusOf(later, sign(later, 'the-first-one'))).toBe(200)
  })

  test('right is stored, missing or wrong is answered 401 and not stored', async () => {
    const { phoneNumberId } = await signed('secret-one')
    const body = textBody(phoneNumberId)
    const refused = await provider.post(body)
    expect([refused.status, refused.body.error.code]).toEqual([401, 'unauthorized'])
    expect(await statusOf(body)).toBe(401)
    expect(await statusOf(body, sign(body, 'another'))).toBe(401)
    expect(await statusOf(body, sign(`${body} `, 'secret-one'))).toBe(401)
    expect(await statusOf(body, { 'x-hub-signature-256': 'sha256=00' })).toBe(401)
    expect(await statusOf(body, sign(body, 'secret-one'))).toBe(200)
  })

  test('a number without a secret needs none', async () => {
    await signed('secret-two')
    expect(await statusOf(textBody(company.phoneNumberId))).toBe(200)
  })

  test('a body about several numbers is signed for every one that carries a secret', async () => {
    const one = await signed('shared')
    const two = await signed('shared')
    const other = await signed('not-shared')
    const both = textBody(company.phoneNumberId, one.phoneNumberId, two.phoneNumberId)
    expect(await statusOf(both)).toBe(401)
    expect(await statusOf(both, sign(both, 'shared'))).toBe(200)
    const mixed = textBody(one.phoneNumberId, other.phoneNumberId)
    expect(await statusOf(mixed, sign(mixed, 'shared'))).toBe(401)
    expect(await statusOf(mixed, sign(mixed, 'not-shared'))).toBe(401)
  })

  test('a changed secret counts from the answer on, in the address of the number in any spelling', async () => {
    const made = await signed('before')
    const { phoneNumberId } = made
    const body = textBody(phoneNumberId).replace(phoneNumberId, `\\u003${phoneNumberId[0]}${phoneNumberId.slice(1)}`)
    expect(await statusOf(body, sign(body, 'before'))).toBe(200)
    await setSecret(made, 'after')
    expect(await statusOf(body, sign(body, 'before'))).toBe(401)
    expect(await statusOf(body, sign(body, 'after'))).toBe(200)
    await setSecret(made, null)
    expect(await statusOf(body)).toBe(200)
  })

  test('an account event is signed when a number of the account carries a secret', async () => {
    await signed('of-the-account')
    const [{ wabaAccountId }] = (await service.db`
      select waba_account_id from senders where app_secret is not null limit 1
    `) as unknown as [{ wabaAccountId: string }]
    const event = { event: 'APPROVED', message_template_id: 1, message_template_name: 'none' }
    const body = JSON.stringify({
      entry: [{ id: wabaAccountId, changes: [{ field: 'message_template_status_update', value: event }] }],
    })
    expect(await statusOf(body)).toBe(401)
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
    await provider.tell(body)
    await provider.tell(body)
    await Promise.all([provider.tell(body), provider.tell(body)])
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
    await provider.tell(body)
    await provider.tell(body)
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
    await provider.tell(
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

describe('echoes', () => {
  test('are outbound, named after the number, end the unread count and open no window', async () => {
    const to = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(to, 'Hi'), textFrom(to, 'Anyone?'))
    expect((await inbox.find(to)).unreadMessages).toBe(2)
    await provider.echoes(company.phoneNumberId, { ...textFrom('390000000', 'Yes'), to })
    const conversation = await inbox.find(to)
    expect(conversation).toMatchObject({ unreadMessages: 0, lastMessage: { text: 'Yes', direction: 'outbound' } })
    const [echo] = await inbox.messages(conversation.chatId)
    expect(echo).toMatchObject({ direction: 'outbound', status: 'sent', senderName: 'Acme', text: 'Yes' })

    const stranger = uniquePhone()
    await provider.echoes(company.phoneNumberId, { ...textFrom('390000000', 'Hello'), to: stranger })
    expect(await inbox.find(stranger)).toMatchObject({ unreadMessages: 0, contact: { name: null } })
    const send = await company.api('POST', '/templates/whatsapp/send', { recipient: stranger, type: 'text', text: 'x' })
    expect([send.status, send.body.error.code]).toEqual([422, 'session_window_closed'])
  })

  test('between messages of one body count only what comes after', async () => {
    const to = uniquePhone()
    await provider.tell(
      bodyOf(
        changeOf(company.phoneNumberId, { messages: [textFrom(to, 'one')] }),
        changeOf(company.phoneNumberId, { message_echoes: [{ ...textFrom('1', 'two'), to }] }, 'smb_message_echoes'),
        changeOf(company.phoneNumberId, { messages: [textFrom(to, 'three')] }),
      ),
    )
    expect(await inbox.find(to)).toMatchObject({ unreadMessages: 1, lastMessage: { text: 'three' } })
    expect(await inbox.texts(to)).toEqual(['one', 'two', 'three'])
  })
})

describe('reactions', () => {
  const reactionTo = (from: string, target: string, emoji: string | undefined, timestamp = secondsNow()) => ({
    from,
    id: newWamid(),
    timestamp: String(timestamp),
    type: 'reaction',
    reaction: { message_id: target, ...(emoji !== undefined && { emoji }) },
  })
  const shown = async (phone: string) => {
    const conversation = await inbox.find(phone)
    return (await inbox.messages(conversation.chatId)).map(({ reaction }) => reaction)
  }

  test('are set, replaced and removed, and are no messages', async () => {
    const from = uniquePhone()
    const message = textFrom(from, 'Hi')
    const at = secondsNow() - 100
    const first = reactionTo(from, message.id, '👍', at)
    await provider.messages(company.phoneNumberId, message, first)
    expect(await shown(from)).toEqual(['👍'])
    expect((await inbox.find(from)).unreadMessages).toBe(1)
    await provider.messages(company.phoneNumberId, reactionTo(from, message.id, '❤️', at + 10))
    expect(await shown(from)).toEqual(['❤️'])
    await provider.messages(company.phoneNumberId, reactionTo(from, message.id, '', at + 20))
    expect(await shown(from)).toEqual([null])
    await provider.messages(company.phoneNumberId, reactionTo(from, message.id, '🙏', at + 30))
    await provider.messages(company.phoneNumberId, reactionTo(from, message.id, undefined, at + 40))
    expect(await shown(from)).toEqual([null])
    // An old one that comes again, or comes late, changes nothing.
    await provider.messages(company.phoneNumberId, first, reactionTo(from, message.id, '😮', at + 5))
    expect(await shown(from)).toEqual([null])
  })

  test('before their message wait for it, and open the window', async () => {
    const from = uniquePhone()
    const message = textFrom(from, 'late')
    await provider.messages(company.phoneNumberId, reactionTo(from, message.id, '🎉'))
    expect(await inbox.find(from)).toMatchObject({ lastMessage: null, unreadMessages: 0 })
    const send = await company.api('POST', '/templates/whatsapp/send', { recipient: from, type: 'text', text: 'x' })
    expect(send.status).toBe(200)
    await provider.messages(company.phoneNumberId, message)
    expect((await shown(from))[0]).toBe('🎉')
  })

  test('to a message of ours, and to nothing at all', async () => {
    const to = uniquePhone()
    const echo = { ...textFrom('1', 'Ours'), to }
    await provider.echoes(company.phoneNumberId, echo)
    const nothing = { ...reactionTo(to, '', '👍'), reaction: { emoji: '👍' } }
    await provider.messages(company.phoneNumberId, reactionTo(to, echo.id, '👎'), nothing)
    expect(await shown(to)).toEqual(['👎'])
  })
})

describe('edits, revokes and history', () => {
  const change = (type: 'edit' | 'revoke', from: string, target: string, content: object = {}, more: object = {}) => ({
    ...textFrom(from, ''),
    text: undefined,
    type,
    [type]: { original_message_id: target, ...content },
    ...more,
  })
  const edit = (from: string, target: string, body: string, more: object = {}) =>
    change('edit', from, target, { message: { type: 'text', text: { body } } }, more)
  const revoke = (from: string, target: string, more: object = {}) => change('revoke', from, target, {}, more)
  const messagesOf = async (phone: string) => inbox.messages((await inbox.find(phone)).chatId)

  test('an edit and a revoke change the message that they name, and make none', async () => {
    const from = uniquePhone()
    const [one, two] = [textFrom(from, 'Hi'), textFrom(from, 'secret')]
    await provider.messages(company.phoneNumberId, one, two)
    const before = await inbox.find(from)
    const at = secondsNow()
    await provider.messages(
      company.phoneNumberId,
      edit(from, one.id, 'Hello', { timestamp: String(at) }),
      revoke(from, two.id, { timestamp: String(at) }),
    )
    const iso = new Date(at * 1000).toISOString()
    expect(await messagesOf(from)).toMatchObject([
      { wamid: two.id, text: '[revoked]', media: null, revokedAt: iso, editedAt: null },
      { wamid: one.id, text: 'Hello', revokedAt: null, editedAt: iso },
    ])
    const after = await inbox.find(from)
    expect(after).toMatchObject({ unreadMessages: 2, lastMessage: { ...before.lastMessage, text: '[revoked]' } })
  })

  test.each([
    ['before it', (message: object, ...changes: object[]) => [...changes, message]],
    ['in front of it, in bodies of their own', (message: object, ...changes: object[]) => [...changes, null, message]],
    ['repeated', (message: object, ...changes: object[]) => [message, ...changes, null, ...changes]],
    ['in the opposite order', (message: object, ...changes: object[]) => [message, ...changes.toReversed()]],
  ])('changes of a message count by their time, also %s', async (_, order) => {
    const [from, other] = [uniquePhone(), uniquePhone()]
    const [edited, revoked] = [textFrom(from, 'one'), textFrom(other, 'two')]
    const at = (seconds: number) => ({ timestamp: String(secondsNow() - seconds) })
    const edits = [edit(from, edited.id, 'first', at(20)), edit(from, edited.id, 'last', at(10))]
    const revokes = [revoke(other, revoked.id, at(20)), edit(other, revoked.id, 'too late', at(10))]
    for (const items of [order(edited, ...edits), order(revoked, ...revokes)]) {
      const cut = items.indexOf(null as never)
      const bodies = cut < 0 ? [items] : [items.slice(0, cut), items.slice(cut + 1)]
      for (const body of bodies) await provider.messages(company.phoneNumberId, ...(body as object[]))
    }
    expect(await inbox.texts(from)).toEqual(['last'])
    expect(await messagesOf(other)).toMatchObject([{ text: '[revoked]', editedAt: null }])
  })

  test('media of a revoked message are no longer served', async () => {
    const from = uniquePhone()
    const image = { ...textFrom(from, ''), text: undefined, type: 'image', image: { id: '42', mime_type: 'image/png' } }
    await provider.messages(company.phoneNumberId, image)
    const [shown] = await messagesOf(from)
    expect(shown.media.url).toContain('http')
    await provider.messages(company.phoneNumberId, revoke(from, image.id))
    expect(await messagesOf(from)).toMatchObject([{ text: '[revoked]', media: null }])
    const { pathname, search } = new URL(shown.media.url)
    expect((await service.call(service.url, 'GET', `${pathname}${search}`)).status).toBe(404)
  })

  test('an edit without words marks the message and leaves its text', async () => {
    const from = uniquePhone()
    const message = textFrom(from, 'Hi')
    await provider.messages(company.phoneNumberId, message, change('edit', from, message.id))
    expect(await messagesOf(from)).toMatchObject([{ text: 'Hi', editedAt: expect.any(String) }])
  })

  test('the customer changes no message of the business, nor one at another number', async () => {
    const [from, other] = [uniquePhone(), await service.createCompany()]
    const { phoneNumberId } = (await service.connectSender(company.companyId)).body
    const [message, echo] = [textFrom(from, 'mine'), { ...textFrom('1', 'ours'), to: from }]
    await provider.messages(company.phoneNumberId, message)
    await provider.echoes(company.phoneNumberId, echo)
    await provider.messages(company.phoneNumberId, revoke(from, echo.id))
    await provider.messages(phoneNumberId, revoke(from, message.id))
    await provider.messages(other.phoneNumberId, revoke(from, message.id))
    expect(await inbox.texts(from)).toEqual(['mine', 'ours'])
    await provider.echoes(company.phoneNumberId, { ...revoke('1', echo.id), to: from })
    expect(await inbox.texts(from)).toEqual(['mine', '[revoked]'])
  })

  test('only the writer of a message changes it, also in a group', async () => {
    const [ada, bob, group] = [uniquePhone(), uniquePhone(), { group_id: `G-${newWamid()}` }]
    const profile = (phone: string, name: string) => ({ contacts: [{ wa_id: phone, profile: { name } }] })
    const [own, shared] = [textFrom(ada, 'private'), textFrom(ada, 'shared', group)]
    const value = { ...profile(ada, 'Ada'), messages: [own, shared, textFrom(bob, 'hello')] }
    await provider.tell(bodyOf(changeOf(company.phoneNumberId, value)))
    const changesBy = (phone: string) => [edit(phone, own.id, 'changed'), edit(phone, shared.id, 'changed', group)]
    await provider.messages(company.phoneNumberId, ...changesBy(bob))
    const groupChat = (await inbox.list()).find(({ groupId }: { groupId: string }) => groupId === group.group_id).chatId
    const groupTexts = async () => (await inbox.messages(groupChat)).map(({ text }: { text: string }) => text)
    expect([await inbox.texts(ada), await groupTexts()]).toEqual([['private'], ['shared']])
    await provider.messages(company.phoneNumberId, ...changesBy(ada))
    expect([await inbox.texts(ada), await groupTexts()]).toEqual([['changed'], ['changed']])
  })

  test('one of an unknown message makes neither message, conversation nor contact', async () => {
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, revoke(from, newWamid()), edit(from, newWamid(), 'x'))
    expect(await inbox.find(from)).toBeUndefined()
    expect((await company.api('GET', `/contacts?search=${from}`)).body.data).toEqual([])
  })

  test('history never looks new', async () => {
    const from = uniquePhone()
    const old = textFrom(from, 'from last year')
    await provider.tell(
      bodyOf(
        changeOf(
          company.phoneNumberId,
          { history: [{ threads: [{ id: from, messages: [old] }] }], messages: [old] },
          'history',
        ),
      ),
    )
    expect(await inbox.find(from)).toBeUndefined()
  })
})
