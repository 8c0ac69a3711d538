import { describe, expect, test } from 'vitest'
import { bodyOf, changeOf, newWamid, secondsNow, textFrom } from '../provider-webhook.ts'
import { uniquePhone } from '../service.ts'
import { startInbound } from './inbound-world.ts'

const { service, company, provider, inbox } = await startInbound({ mirrors: true })

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

    const customer = uniquePhone()
    await provider.echoes(company.phoneNumberId, { ...textFrom('390000000', 'Hello'), to: customer })
    expect(await inbox.find(customer)).toMatchObject({ unreadMessages: 0, contact: { name: null } })
    const send = await company.api('POST', '/templates/whatsapp/send', { recipient: customer, type: 'text', text: 'x' })
    expect([send.status, send.body.error.code]).toEqual([422, 'session_window_closed'])
  })

  test('between messages of one body count only what comes after', async () => {
    const to = uniquePhone()
    await provider.report(
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
      const separator = items.indexOf(null as never)
      const bodies = separator < 0 ? [items] : [items.slice(0, separator), items.slice(separator + 1)]
      for (const body of bodies) await provider.messages(company.phoneNumberId, ...(body as object[]))
    }
    expect(await inbox.texts(from)).toEqual(['last'])
    expect(await messagesOf(other)).toMatchObject([{ text: '[revoked]', editedAt: null }])
  })

  test('a revoked message loses its content', async () => {
    const from = uniquePhone()
    const place = { latitude: 1, longitude: 2, name: 'Duomo' }
    const location = { ...textFrom(from, ''), text: undefined, type: 'location', location: place }
    await provider.messages(company.phoneNumberId, location)
    expect(await messagesOf(from)).toMatchObject([{ text: 'Duomo', content: { type: 'location', location: place } }])
    await provider.messages(company.phoneNumberId, revoke(from, location.id))
    expect(await messagesOf(from)).toMatchObject([{ text: '[revoked]', content: null }])
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

  test('an edit without text marks the message and leaves its text', async () => {
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
    await provider.report(bodyOf(changeOf(company.phoneNumberId, value)))
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
    await provider.report(
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
