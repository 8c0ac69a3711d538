import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { eventReader } from '../src/wiring/adapters.ts'
import { bodyOf, changeOf, inboxOf, newWamid, providerOf, secondsNow, textFrom } from './provider-webhook.ts'
import { DEMO_ACCOUNT, startTestService, type TestService, uniquePhone } from './service.ts'

let service: TestService
let company: Awaited<ReturnType<TestService['createCompany']>>
let provider: ReturnType<typeof providerOf>
let inbox: ReturnType<typeof inboxOf>
beforeAll(async () => {
  service = await startTestService()
  company = await service.createCompany()
  provider = providerOf(service)
  inbox = inboxOf(company)
})

/** Templates are believed for three seconds. */
const LONGER_THAN_CACHED = { timeout: 10_000 }

const TEMPLATE = { type: 'template', template: { name: 'shipping_notice' } }

async function sendTo(recipient: string, owner = company) {
  const { status, body } = await owner.api('POST', '/templates/whatsapp/send', { recipient, ...TEMPLATE })
  expect(status).toBe(200)
  return body.data as { chatId: number; messageId: number; wamid: string }
}

const statusOf = (wamid: string, status: string, more: object = {}) => ({
  id: wamid,
  status,
  timestamp: String(secondsNow()),
  recipient_id: '39',
  ...(status === 'failed' && { errors: [ERROR] }),
  ...more,
})
const ERROR = { code: 131047, title: 'Re-engagement message', error_data: { details: 'More than 24 hours' } }

const messageOf = async ({ chatId, messageId }: { chatId: number; messageId: number }, owner = company) =>
  (await inboxOf(owner).messages(chatId)).find(({ id }) => id === messageId)

const eventsOf = async (messageId: number) => {
  const rows = await service.db<{ status: string }[]>`
    select status from message_status_events where company_id > 0 and message_id = ${messageId} order by status
  `
  return rows.map(({ status }) => status)
}

describe('statuses', () => {
  test('in any order and repeated end in the same state, all kept', async () => {
    const words = ['sent', 'delivered', 'read', 'failed']
    const permutation = fc.shuffledSubarray(words, { minLength: 4 })
    const repeats = fc.array(fc.constantFrom(...words), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(permutation, repeats, fc.boolean(), async (order, again, isOneBody) => {
        const sent = await sendTo(uniquePhone())
        const items = [...order, ...again].map((word) => statusOf(sent.wamid, word))
        if (isOneBody) await provider.statuses(company.phoneNumberId, ...items)
        else for (const item of items) await provider.statuses(company.phoneNumberId, item)
        expect(await messageOf(sent)).toMatchObject({ status: 'read', error: null })
        expect(await eventsOf(sent.messageId)).toEqual([...words].sort())
      }),
      { numRuns: 25 },
    )
  }, 120_000)

  test('failed carries the error, in whatever order it comes with sent', async () => {
    for (const order of [
      ['sent', 'failed'],
      ['failed', 'sent'],
    ]) {
      const sent = await sendTo(uniquePhone())
      for (const word of order) await provider.statuses(company.phoneNumberId, statusOf(sent.wamid, word))
      expect(await messageOf(sent)).toMatchObject({
        status: 'failed',
        error: { code: 131047, title: 'Re-engagement message', details: 'More than 24 hours' },
      })
    }
  })

  test('delivered outranks failed, in whatever order they come', async () => {
    for (const order of [
      ['delivered', 'failed'],
      ['failed', 'delivered'],
    ]) {
      const sent = await sendTo(uniquePhone())
      for (const word of order) await provider.statuses(company.phoneNumberId, statusOf(sent.wamid, word))
      expect(await messageOf(sent)).toMatchObject({ status: 'delivered', error: null })
    }
  })

  test('before the answer of the send, tied by our own id', async () => {
    await service.control('PUT', '/behaviour', { latencyMs: 1_500 })
    const recipient = uniquePhone()
    const sending = sendTo(recipient)
    const pending = await expect
      .poll(async () => {
        const [row] = await service.db`
          select id from messages where company_id > 0 and status = 'pending' order by id desc limit 1
        `
        return row?.id
      })
      .toBeGreaterThan(0)
      .then(
        () => service.db`select id from messages where company_id > 0 and status = 'pending' order by id desc limit 1`,
      )
    const wamid = newWamid()
    await provider.statuses(
      company.phoneNumberId,
      statusOf(wamid, 'delivered', { biz_opaque_callback_data: String(pending[0]!.id) }),
    )
    const sent = await sending
    await service.control('PUT', '/behaviour', { latencyMs: 0 })
    expect(sent.messageId).toBe(pending[0]!.id)
    expect(await messageOf(sent)).toMatchObject({ status: 'delivered', wamid })
  })

  test('of messages that are not ours change nothing and are no failures', async () => {
    const before = await provider.deadLetters('failed')
    await provider.statuses(company.phoneNumberId, statusOf(newWamid(), 'read'), statusOf(newWamid(), 'in_orbit'))
    expect(await provider.deadLetters('failed')).toEqual(before)
  })

  test('with another company’s message id, or another sender’s, change nothing', async () => {
    const other = await service.createCompany()
    const sent = await sendTo(uniquePhone(), other)
    await service.db`update messages set wamid = null, status = 'unknown' where company_id > 0 and id = ${sent.messageId}`
    const forged = statusOf(newWamid(), 'read', { biz_opaque_callback_data: String(sent.messageId) })
    await provider.statuses(company.phoneNumberId, forged)
    await provider.statuses(company.phoneNumberId, statusOf(sent.wamid, 'read'))
    expect(await messageOf(sent, other)).toMatchObject({ status: 'unknown', wamid: null })
    await provider.statuses(other.phoneNumberId, { ...forged, status: 'delivered' })
    expect(await messageOf(sent, other)).toMatchObject({ status: 'delivered', wamid: forged.id })
  })
})

describe('template events', () => {
  const templateOf = async (name: string, language = 'en_US') => {
    const { body } = await company.api('GET', '/templates/whatsapp')
    return body.data.find((one: { name: string; language: string }) => one.name === name && one.language === language)
  }
  const event = (field: string, value: object, account = DEMO_ACCOUNT) =>
    provider.tell({ entry: [{ id: account, time: secondsNow(), changes: [{ field, value }] }] })
  const named = (name: string, language = 'en_US') => ({
    message_template_name: name,
    message_template_language: language,
  })

  test('change the status, by id and by name and language, and a send sees it', async () => {
    const { external_id } = await templateOf('shipping_notice')
    const about = { message_template_id: Number(external_id), ...named('shipping_notice') }
    await event('message_template_status_update', { ...about, event: 'REJECTED', reason: 'SCAM' })
    expect(await templateOf('shipping_notice')).toMatchObject({ status: 'REJECTED', rejected_reason: 'SCAM' })
    await expect
      .poll(async () => {
        const body = { recipient: uniquePhone(), ...TEMPLATE }
        return (await company.api('POST', '/templates/whatsapp/send', body)).body.error?.code
      }, LONGER_THAN_CACHED)
      .toBe('template_not_approved')
    await event('message_template_status_update', { ...named('shipping_notice', 'en-US'), event: 'APPROVED' })
    expect(await templateOf('shipping_notice')).toMatchObject({ status: 'APPROVED', rejected_reason: '' })
    const sends = async () => (await sendTo(uniquePhone()).catch(() => undefined)) !== undefined
    await expect.poll(sends, LONGER_THAN_CACHED).toBe(true)
  })

  test.each([
    ['PAUSED', 'DISABLED'],
    ['IN_APPEAL', 'PENDING'],
    ['FLAGGED', 'PENDING'],
    ['REINSTATED', 'APPROVED'],
  ])('%s leaves it %s', async (word, status) => {
    await event('message_template_status_update', { ...named('shipping_notice'), event: word })
    expect(await templateOf('shipping_notice')).toMatchObject({ status })
  })

  test('change quality and category', async () => {
    await event('message_template_quality_update', { ...named('shipping_notice'), new_quality_score: 'YELLOW' })
    expect(await templateOf('shipping_notice')).toMatchObject({ quality_score: { score: 'YELLOW' } })
    await event('template_category_update', { ...named('shipping_notice'), correct_category: 'MARKETING' })
    expect(await templateOf('shipping_notice')).toMatchObject({ category: 'UTILITY' })
    await event('template_category_update', { ...named('shipping_notice'), new_category: 'MARKETING' })
    expect(await templateOf('shipping_notice')).toMatchObject({ category: 'MARKETING' })
    await event('template_category_update', { ...named('shipping_notice'), new_category: 'UTILITY' })
  })

  test('name ids above 2^53 exactly', async () => {
    const [one, other] = ['9007199254740993', '9007199254740995']
    await service.db`
      update templates template set external_id = case family.name when 'shipping_notice' then ${one} else ${other} end
      from template_families family
      where (family.company_id, family.id) = (template.company_id, template.family_id)
        and template.company_id = ${company.companyId} and family.name in ('shipping_notice', 'order_ready')
    `
    await provider.tell(
      `{"entry":[{"id":"${DEMO_ACCOUNT}","changes":[{"field":"message_template_status_update",
        "value":{"event":"PAUSED","message_template_id":${one}}}]}]}`,
    )
    expect((await templateOf('shipping_notice')).status).toBe('DISABLED')
    expect((await templateOf('order_ready')).status).toBe('APPROVED')
    await event('message_template_status_update', { message_template_id: one, event: 'APPROVED' })
  })

  test('of an account touch no other account’s templates', async () => {
    await event('message_template_status_update', { ...named('order_ready'), event: 'DISABLED' }, '777')
    expect((await templateOf('order_ready')).status).toBe('APPROVED')
  })
})

describe('events of customers and numbers', () => {
  test('stop and resume change the consent, with a history', async () => {
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(from, 'Hi'))
    const say = (value: string) =>
      provider.tell(
        bodyOf(
          changeOf(
            company.phoneNumberId,
            { user_preferences: [{ wa_id: from, category: 'marketing_messages', value, timestamp: secondsNow() }] },
            'user_preferences',
          ),
        ),
      )
    const { contact } = await inbox.find(from)
    const consent = async () =>
      (await company.api('GET', `/contacts/${contact.id}`)).body.data.marketing_consent.whatsapp
    await say('stop')
    expect(await consent()).toBe(false)
    await say('stop')
    await say('resume')
    expect(await consent()).toBe(true)
    const history = await service.db`
      select value, source from consent_changes where contact_id = ${contact.id} order by id
    `
    expect(history).toMatchObject([
      { value: false, source: 'provider' },
      { value: true, source: 'provider' },
    ])
  })

  test('quality events change the daily limit of the number that they name', async () => {
    const quality = async (value: object) => {
      await provider.tell({
        entry: [{ id: DEMO_ACCOUNT, changes: [{ field: 'phone_number_quality_update', value }] }],
      })
      const [row] = await service.db`
        select daily_limit, tier from senders where phone_number_id = ${company.phoneNumberId}
      `
      return row
    }
    const display_phone_number = company.sender.phoneNumber
    expect(await quality({ display_phone_number, event: 'ONBOARDING', current_limit: 'TIER_2K' })).toEqual({
      dailyLimit: 2000,
      tier: null,
    })
    expect(await quality({ display_phone_number: '1', event: 'UPGRADE', current_limit: 'TIER_50' })).toMatchObject({
      dailyLimit: 2000,
    })
    expect(
      await quality({ display_phone_number, event: 'UPGRADE', max_daily_conversations_per_business: 'TIER_UNLIMITED' }),
    ).toEqual({ dailyLimit: null, tier: 4 })
  })
})

describe('the identity of a customer', () => {
  const newUserId = () => `US.${Date.now()}${uniquePhone()}`
  const asUser = (userId: string, body: string, from?: string) => {
    const { from: _, ...message } = textFrom('', body)
    return { ...message, from_user_id: userId, ...(from !== undefined && { from }) }
  }
  const conversationOf = async (userId: string) => {
    const [row] = await service.db<{ conversationId: number; phone: string | null }[]>`
      select conversation.id as conversation_id, contact.phone
      from contact_identities identity
      join conversations conversation
        on (conversation.company_id, conversation.contact_id) = (identity.company_id, identity.contact_id)
      join contacts contact on (contact.company_id, contact.id) = (identity.company_id, identity.contact_id)
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
    const { conversationId, phone: known } = await conversationOf(userId)
    expect(await textsOf(conversationId)).toEqual(['hidden', 'shown', 'hidden again'])
    expect(known).toBe(phone)
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
  ])('%s: the answer meets the conversation of the number dialled', async (_, dialled, reported) => {
    const { chatId } = await sendTo(dialled)
    await provider.messages(company.phoneNumberId, textFrom(reported, 'Oi'))
    expect(await textsOf(chatId)).toHaveLength(2)
    expect((await sendTo(dialled)).chatId).toBe(chatId)
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

  test('a wa_id other than the number dialled meets its conversation', async () => {
    const [dialled, waId] = [uniquePhone(), uniquePhone()]
    const { chatId, messageId } = await sendTo(dialled)
    // As the provider's answer to the send would have told.
    const [row] = await service.db`select sender_id, customer from conversations where id = ${chatId}`
    await service.db`
      insert into customer_aliases (company_id, sender_id, alias, customer)
      values (${company.companyId}, ${row!.senderId}, ${waId}, ${row!.customer})
    `
    await provider.messages(company.phoneNumberId, textFrom(waId, 'Hello'))
    expect((await inbox.messages(chatId)).map(({ id }) => id)).toContain(messageId)
    expect(await textsOf(chatId)).toHaveLength(2)
  })

  test('a new number, told before the first message from it in the same body, keeps the conversation', async () => {
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

    await provider.messages(company.phoneNumberId, textFrom(before, 'somebody else'))
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
    await provider.messages(company.phoneNumberId, textFrom(before, 'somebody else'))
    expect((await inbox.find(before)).chatId).not.toBe(conversationId)
  })

  test('a new user id that the provider announces is the same person’s', async () => {
    const [phone, former, next] = [uniquePhone(), newUserId(), newUserId()]
    await provider.messages(company.phoneNumberId, asUser(former, 'one', phone))
    const update = { wa_id: phone, user_id: { previous: former, current: next }, timestamp: String(secondsNow()) }
    const change = changeOf(company.phoneNumberId, { user_id_update: [update] }, 'user_id_update')
    await provider.tell(bodyOf(change))
    await provider.messages(company.phoneNumberId, asUser(next, 'two', phone), asUser(next, 'three'))
    expect(await textsOf((await conversationOf(next)).conversationId)).toEqual(['one', 'two', 'three'])
  })

  test('a contacts[] entry of another number gives no user id', async () => {
    const [victim, writer, userId] = [uniquePhone(), uniquePhone(), newUserId()]
    await provider.messages(company.phoneNumberId, asUser(userId, 'mine', victim))
    const contacts = [{ wa_id: victim, user_id: userId, profile: { name: 'Ida' } }]
    await provider.tell(bodyOf(changeOf(company.phoneNumberId, { contacts, messages: [textFrom(writer, 'odd')] })))
    const odd = await inbox.find(writer)
    expect([await textsOf(odd.chatId), odd.contact.name]).toEqual([['odd'], 'Ida'])
    expect(await textsOf((await conversationOf(userId)).conversationId)).toEqual(['mine'])
    expect((await inbox.find(victim)).contact.id).not.toBe(odd.contact.id)
  })
})

describe('an event that cannot be routed', () => {
  test('waits for its number and is requeued in order, once, when that is connected', async () => {
    const phoneNumberId = `8${Date.now()}`
    const from = uniquePhone()
    const long = 60 * 60 * 24
    const messages = Array.from({ length: 30 }, (_, n) => textFrom(from, `n${n}`, { timestamp: undefined }))
    for (let n = 0; n < 30; n += 10) await provider.messages(phoneNumberId, ...messages.slice(n, n + 10))
    await provider.messages(phoneNumberId, messages[0]!)
    const waiting = (await provider.deadLetters('unroutable')).filter((one) => one.phoneNumberId === phoneNumberId)
    expect(waiting).toHaveLength(31)
    expect(JSON.parse(waiting[30]!.body).entry[0].changes[0].value.messages).toMatchObject([{ id: messages[0]!.id }])
    await service.db`
      update inbound_items set received_at = received_at - ${long} * interval '1 second'
      where phone_number_id = ${phoneNumberId}
    `
    const owner = await service.createCompany({ sender: { phoneNumberId } })
    await provider.handled()
    expect(await inboxOf(owner).texts(from)).toEqual(messages.map(({ text }) => text.body))
    expect((await provider.deadLetters('unroutable')).some((one) => one.phoneNumberId === phoneNumberId)).toBe(false)
    // A message without a time is as old as its arrival: it opens no window later.
    const send = await owner.api('POST', '/templates/whatsapp/send', { recipient: from, type: 'text', text: 'x' })
    expect(send.body.error?.code).toBe('session_window_closed')
  })

  test('is forgotten after seven days', async () => {
    const { expireDeadLetters } = await import('../src/inbound/handling/dead-letter-store.ts')
    const phoneNumberId = `7${Date.now()}`
    await provider.messages(phoneNumberId, textFrom(uniquePhone(), 'a'), textFrom(uniquePhone(), 'b'))
    const age = (days: string, id: number) =>
      service.db`update inbound_items set received_at = now() - ${days}::interval where id = ${id}`
    const [newer, older] = (await provider.deadLetters('unroutable')).filter(
      (one) => one.phoneNumberId === phoneNumberId,
    )
    await age('6 days 23 hours', newer!.id)
    await age('7 days 1 minute', older!.id)
    await expireDeadLetters(service.db, 1_000)
    const left = (await provider.deadLetters('unroutable')).filter((one) => one.phoneNumberId === phoneNumberId)
    expect(left.map(({ id }) => id)).toEqual([newer!.id])
  })

  test('and was dead-lettered while its number was being connected is requeued afterwards', async () => {
    const { requeueMissedEvents } = await import('../src/inbound/handling/requeue.ts')
    const from = uniquePhone()
    const message = textFrom(from, 'in between')
    const body = JSON.stringify(bodyOf(changeOf(company.phoneNumberId, { messages: [message] })))
    await service.db`
      insert into inbound_items (state, reason, phone_number_id, body, received_at)
      values ('unroutable', 'no connected number wants it', ${company.phoneNumberId}, ${Buffer.from(body)}, now())
    `
    expect(
      await service.db.begin((tx) =>
        requeueMissedEvents({ decrypt: service.deps.cipher.decrypt, events: eventReader }, tx),
      ),
    ).toBe(1)
    await provider.handled()
    expect(await inbox.texts(from)).toEqual(['in between'])
  })
})

describe('an event that fails', () => {
  test('stands alone: its siblings are in place, and the operator can retry it', async () => {
    await service.db`alter table messages add constraint poison check (text not like '%poison%')`
    const customers = Array.from({ length: 20 }, uniquePhone)
    const items = customers.map((from, n) => textFrom(from, n % 7 === 3 ? `poison ${n}` : `good ${n}`))
    const after = textFrom(customers[3]!, 'good later')
    await provider.messages(company.phoneNumberId, ...items, after)
    for (const [n, from] of customers.entries()) if (n % 7 !== 3) expect(await inbox.texts(from)).toEqual([`good ${n}`])
    expect(await inbox.texts(customers[3]!)).toEqual(['good later'])
    const failed = (await provider.deadLetters('failed')).filter(({ reason }) => reason.includes('poison'))
    expect(failed).toHaveLength(3)

    const retry = (id: number | string) => service.operator('POST', `/failed-events/${id}/retry`)
    expect((await retry(failed[0]!.id)).body).toEqual({ success: true })
    await provider.handled()
    const again = (await provider.deadLetters('failed')).filter(({ reason }) => reason.includes('poison'))
    expect(again).toHaveLength(3)
    expect(again.map(({ id }) => id)).not.toContain(failed[0]!.id)

    await service.db`alter table messages drop constraint poison`
    for (const { id } of again) expect((await retry(id)).status).toBe(200)
    await provider.handled()
    expect(await inbox.texts(customers[10]!)).toEqual(['poison 10'])
    expect(await inbox.texts(customers[3]!)).toEqual(['good later', 'poison 3'])
    const missing = await retry(again[0]!.id)
    expect([missing.status, missing.body]).toEqual([404, { message: 'Event not found' }])
    expect((await retry('x')).status).toBe(404)
  })

  test('names no customer: it is kept, not lost', async () => {
    const message = { id: newWamid(), timestamp: String(secondsNow()), type: 'text', text: { body: 'nobody' } }
    await provider.messages(company.phoneNumberId, message)
    const [failed] = await provider.deadLetters('failed')
    expect(failed).toMatchObject({ reason: 'it names no customer' })
    expect(failed!.body).toContain(message.id)
  })
})
