import { describe, expect, test } from 'vitest'
import { bodyOf, changeOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { uniquePhone } from '../service.ts'
import { startInbound } from './inbound-world.ts'

const { service, company, provider, inbox, sendTo } = await startInbound()

describe('the identity of a customer', () => {
  const newUserId = () => `US.${Date.now()}${uniquePhone()}`
  const asUser = (userId: string, body: string, from?: string) => {
    const { from: _, ...message } = textFrom('', body)
    return { ...message, from_user_id: userId, ...(from !== undefined && { from }) }
  }
  const conversationOf = async (userId: string) => {
    const [row] = await service.db<{ conversationId: number; phone: string | null }[]>`
      select conversation.id as conversation_id, customer.phone
      from customer_identities identity
      join customers customer on (customer.company_id, customer.id) = (identity.company_id, identity.customer_id)
      join conversations conversation
        on (conversation.company_id, conversation.customer_id) = (identity.company_id, identity.customer_id)
      where identity.identity = ${userId}
    `
    return row!
  }
  const textsOf = async (chatId: number) => (await inbox.messages(chatId)).map(({ text }) => text).reverse()

  test.each([
    [true, 'in one body'],
    [false, 'one after the other'],
  ])('a user id, then with a phone, then hidden again: one conversation (%s: %s)', async (isOneBody) => {
    const [userId, phone] = [newUserId(), uniquePhone()]
    const items = [asUser(userId, 'hidden'), asUser(userId, 'shown', phone), asUser(userId, 'hidden again')]
    if (isOneBody) await provider.messages(company.phoneNumberId, ...items)
    else for (const item of items) await provider.messages(company.phoneNumberId, item)
    const { conversationId, phone: previousPhone } = await conversationOf(userId)
    expect(await textsOf(conversationId)).toEqual(['hidden', 'shown', 'hidden again'])
    expect(previousPhone).toBe(phone)
    const search = await company.api('GET', `/contacts?search=${phone}`)
    expect(search.body.data.map((contact: { phone: string }) => contact.phone)).toEqual([`+${phone}`])
    await provider.messages(company.phoneNumberId, textFrom(phone, 'by phone alone'))
    expect((await textsOf(conversationId)).at(-1)).toBe('by phone alone')
  })

  test.each([true, false])('a phone with a user id, then hidden: one conversation (in one body: %s)', async (one) => {
    const [userId, phone] = [newUserId(), uniquePhone()]
    const items = [asUser(userId, 'shown', phone), asUser(userId, 'hidden')]
    if (one) await provider.messages(company.phoneNumberId, ...items)
    else for (const item of items) await provider.messages(company.phoneNumberId, item)
    const { conversationId } = await conversationOf(userId)
    expect(await textsOf(conversationId)).toEqual(['shown', 'hidden'])
  })

  test('a customer who hides the phone is shown without one', async () => {
    const userId = newUserId()
    await provider.messages(company.phoneNumberId, asUser(userId, 'who am I'))
    const { conversationId } = await conversationOf(userId)
    const found = (await inbox.list()).find(({ chatId }) => chatId === conversationId)
    expect(found.contact.phone).toBeNull()
  })

  test.each([
    ['Brazil', '5511987654321', '551187654321'],
    ['Mexico', '525512345678', '5215512345678'],
    ['Argentina', '541123456789', '5491123456789'],
  ])('%s: the answer meets the conversation of the requested number', async (_, requested, reported) => {
    const { chatId } = await sendTo(requested)
    await provider.messages(company.phoneNumberId, textFrom(reported, 'Oi'))
    expect(await textsOf(chatId)).toHaveLength(2)
    expect((await sendTo(requested)).chatId).toBe(chatId)
  })

  test('Brazil: a mobile number and a landline that differ by the ninth digit are two customers', async () => {
    const [mobile, landline] = ['5511934567254', '551134567254']
    const { chatId } = await sendTo(mobile)
    await provider.messages(company.phoneNumberId, textFrom(landline, 'from the landline'))
    await provider.messages(company.phoneNumberId, textFrom(mobile, 'from the mobile'))
    expect((await textsOf(chatId)).at(-1)).toBe('from the mobile')
    const [one, other] = [await inbox.find(mobile), await inbox.find(landline)]
    expect(one.chatId).toBe(chatId)
    expect(other.chatId).not.toBe(chatId)
    expect(other.contact.id).not.toBe(one.contact.id)
    expect(await textsOf(other.chatId)).toEqual(['from the landline'])
    const text = { recipient: '551134567290', type: 'text', text: 'x' }
    await provider.messages(company.phoneNumberId, textFrom('5511934567290', 'opens no window of the landline'))
    expect((await company.api('POST', '/templates/whatsapp/send', text)).body.error.code).toBe('session_window_closed')
  })

  test('a wa_id other than the requested number meets its conversation', async () => {
    const [requested, waId] = [uniquePhone(), uniquePhone()]
    const { chatId, messageId } = await sendTo(requested)
    // As the provider's answer to the send would have reported.
    await service.db`
      insert into customer_identities (company_id, customer_id, identity, reported_at)
      select company_id, customer_id, ${waId}, now() from conversations where id = ${chatId}
    `
    await provider.messages(company.phoneNumberId, textFrom(waId, 'Hello'))
    expect((await inbox.messages(chatId)).map(({ id }) => id)).toContain(messageId)
    expect(await textsOf(chatId)).toHaveLength(2)
  })

  test('a new number, reported before the first message from it in the same body, keeps the conversation', async () => {
    const [before, after] = [uniquePhone(), uniquePhone()]
    await provider.messages(company.phoneNumberId, textFrom(before, 'old number'))
    const { chatId } = await inbox.find(before)
    const system = { body: 'changed', type: 'user_changed_number', wa_id: after }
    await provider.messages(
      company.phoneNumberId,
      { ...textFrom(before, ''), text: undefined, type: 'system', system },
      textFrom(after, 'new number'),
    )
    expect(await textsOf(chatId)).toEqual(['old number', 'changed', 'new number'])
  })

  const numberChange = (from: string, to: string, more: object = {}) => ({
    ...textFrom(from, ''),
    text: undefined,
    type: 'system',
    system: { body: 'changed', type: 'user_changed_number', wa_id: to },
    ...more,
  })

  test('after a number change conversation and contact carry the new number, and the old one is a new customer’s', async () => {
    const [before, after] = [uniquePhone(), uniquePhone()]
    await provider.messages(company.phoneNumberId, textFrom(before, 'old number'))
    const { chatId, contact } = await inbox.find(before)
    const change = numberChange(before, after)
    await provider.messages(company.phoneNumberId, change)
    expect((await inbox.find(after)).chatId).toBe(chatId)
    expect((await company.api('GET', `/contacts/${contact.id}`)).body.data.phone).toBe(`+${after}`)
    const found = async (search: string) =>
      (await company.api('GET', `/contacts?search=${search}`)).body.data.map(({ id }: { id: number }) => id)
    expect([await found(before), await found(after)]).toEqual([[], [contact.id]])
    expect((await sendTo(after)).chatId).toBe(chatId)

    await provider.messages(company.phoneNumberId, textFrom(before, 'another person'))
    const other = await inbox.find(before)
    expect([other.chatId === chatId, other.contact.id === contact.id]).toEqual([false, false])
    // The provider repeats events for days.
    await provider.messages(company.phoneNumberId, change)
    expect((await inbox.find(before)).chatId).toBe(other.chatId)
    expect((await inbox.find(after)).chatId).toBe(chatId)
  })

  test('a number change to a number with a conversation leaves both, and closes the old one', async () => {
    const [before, after] = [uniquePhone(), uniquePhone()]
    await provider.messages(company.phoneNumberId, textFrom(before, 'old number'), textFrom(after, 'new number'))
    const [old, next] = [await inbox.find(before), await inbox.find(after)]
    await provider.messages(company.phoneNumberId, numberChange(before, after), textFrom(after, 'again'))
    const list = await inbox.list()
    const closed = list.find(({ chatId }) => chatId === old.chatId)
    expect(closed).toMatchObject({ status: 'closed', contact: { id: old.contact.id, phone: null } })
    expect(await textsOf(old.chatId)).toEqual(['old number'])
    expect(list.find(({ chatId }) => chatId === next.chatId)).toMatchObject({ status: 'open', contact: next.contact })
    expect(await textsOf(next.chatId)).toEqual(['new number', 'changed', 'again'])
  })

  test('a number change counts for all numbers of the company', async () => {
    const [before, after] = [uniquePhone(), uniquePhone()]
    const { phoneNumberId } = (await service.connectSender(company.companyId)).body
    await provider.messages(phoneNumberId, textFrom(before, 'to the other number'))
    const { chatId } = await inbox.find(before)
    await provider.messages(company.phoneNumberId, numberChange(before, after))
    await provider.messages(phoneNumberId, textFrom(after, 'again'))
    expect(await textsOf(chatId)).toEqual(['to the other number', 'again'])
  })

  test.each([
    true,
    false,
  ])('another user id: the number is another person’s now (in one body: %s)', async (isOneBody) => {
    const [phone, former, next] = [uniquePhone(), newUserId(), newUserId()]
    const items = [
      asUser(former, 'before', phone),
      asUser(next, 'recycled', phone),
      textFrom(phone, 'by phone alone'),
      asUser(former, 'hidden'),
    ]
    if (isOneBody) await provider.messages(company.phoneNumberId, ...items)
    else for (const item of items) await provider.messages(company.phoneNumberId, item)
    const [one, other] = [await conversationOf(former), await conversationOf(next)]
    expect(await textsOf(one.conversationId)).toEqual(['before', 'hidden'])
    expect(await textsOf(other.conversationId)).toEqual(['recycled', 'by phone alone'])
    expect([one.phone, other.phone]).toEqual([null, phone])
    expect((await sendTo(phone)).chatId).toBe(other.conversationId)
    const [found] = (await company.api('GET', `/contacts?search=${phone}`)).body.data
    expect(found.id).toBe((await inbox.find(phone)).contact.id)
  })

  test('a deleted contact shows no number that is another person’s now', async () => {
    const [phone, former, next] = [uniquePhone(), newUserId(), newUserId()]
    await provider.messages(company.phoneNumberId, asUser(former, 'before', phone))
    const { chatId, contact } = await inbox.find(phone)
    await company.api('DELETE', `/contacts/${contact.id}`)
    await provider.messages(company.phoneNumberId, asUser(next, 'recycled', phone))
    const list = await inbox.list()
    expect(list.find((conversation) => conversation.chatId === chatId).contact.phone).toBeNull()
    expect(list.filter((conversation) => conversation.contact.phone === phone)).toHaveLength(1)
  })

  test('a late message of the former holder of a number goes to the former conversation', async () => {
    const [phone, former, next] = [uniquePhone(), newUserId(), newUserId()]
    const anHourAgo = { timestamp: String(secondsNow() - 3600) }
    await provider.messages(company.phoneNumberId, asUser(former, 'before', phone), asUser(next, 'recycled', phone))
    await provider.messages(company.phoneNumberId, { ...asUser(former, 'late', phone), ...anHourAgo })
    expect(await textsOf((await conversationOf(former)).conversationId)).toEqual(['before', 'late'])
    expect(await textsOf((await conversationOf(next)).conversationId)).toEqual(['recycled'])
    expect((await inbox.find(phone)).chatId).toBe((await conversationOf(next)).conversationId)
  })

  test('a user who writes from another number takes it along', async () => {
    const [before, after, userId] = [uniquePhone(), uniquePhone(), newUserId()]
    await provider.messages(company.phoneNumberId, asUser(userId, 'one', before), asUser(userId, 'two', after))
    const { conversationId, phone } = await conversationOf(userId)
    expect([await textsOf(conversationId), phone]).toEqual([['one', 'two'], after])
    await provider.messages(company.phoneNumberId, textFrom(before, 'another person'))
    expect((await inbox.find(before)).chatId).not.toBe(conversationId)
  })

  test('a new user id that the provider announces is the same person’s', async () => {
    const [phone, former, next] = [uniquePhone(), newUserId(), newUserId()]
    await provider.messages(company.phoneNumberId, asUser(former, 'one', phone))
    const update = { wa_id: phone, user_id: { previous: former, current: next }, timestamp: String(secondsNow()) }
    const change = changeOf(company.phoneNumberId, { user_id_update: [update] }, 'user_id_update')
    await provider.report(bodyOf(change))
    await provider.messages(company.phoneNumberId, asUser(next, 'two', phone), asUser(next, 'three'))
    expect(await textsOf((await conversationOf(next)).conversationId)).toEqual(['one', 'two', 'three'])
  })

  test('a contacts[] entry of another number gives no user id', async () => {
    const [victim, writer, userId] = [uniquePhone(), uniquePhone(), newUserId()]
    await provider.messages(company.phoneNumberId, asUser(userId, 'mine', victim))
    const contacts = [{ wa_id: victim, user_id: userId, profile: { name: 'Ida' } }]
    await provider.report(bodyOf(changeOf(company.phoneNumberId, { contacts, messages: [textFrom(writer, 'odd')] })))
    const odd = await inbox.find(writer)
    expect([await textsOf(odd.chatId), odd.contact.name]).toEqual([['odd'], 'Ida'])
    expect(await textsOf((await conversationOf(userId)).conversationId)).toEqual(['mine'])
    expect((await inbox.find(victim)).contact.id).not.toBe(odd.contact.id)
  })
})
