import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bodyOf, changeOf, inboxOf, newWamid, secondsNow, textFrom } from '../provider-webhook.ts'
import { DEMO_ACCOUNT, eventually, uniquePhone } from '../service.ts'
import { startInbound, TEMPLATE } from './inbound-world.ts'

const { service, company, provider, inbox, sendTo } = await startInbound()

/** Templates are believed for three seconds. */
const LONGER_THAN_CACHED = { timeout: 90_000 }

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
    const names = ['sent', 'delivered', 'read', 'failed']
    const permutation = fc.shuffledSubarray(names, { minLength: 4 })
    const repeats = fc.array(fc.constantFrom(...names), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(permutation, repeats, fc.boolean(), async (order, again, isOneBody) => {
        const sent = await sendTo(uniquePhone())
        const items = [...order, ...again].map((word) => statusOf(sent.wamid, word))
        if (isOneBody) await provider.statuses(company.phoneNumberId, ...items)
        else for (const item of items) await provider.statuses(company.phoneNumberId, item)
        expect(await messageOf(sent)).toMatchObject({ status: 'read', error: null })
        expect(await eventsOf(sent.messageId)).toEqual([...names].sort())
      }),
      { numRuns: 25 },
    )
  }, 300_000)

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
    const pendingId = await eventually(async () => {
      const [row] = await service.db<{ id: number }[]>`
        select id from messages where company_id > 0 and status = 'pending' order by id desc limit 1
      `
      return row?.id
    })
    const wamid = newWamid()
    await provider.statuses(
      company.phoneNumberId,
      statusOf(wamid, 'delivered', { biz_opaque_callback_data: String(pendingId) }),
    )
    const sent = await sending
    await service.control('PUT', '/behaviour', { latencyMs: 0 })
    expect(sent.messageId).toBe(pendingId)
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
    provider.report({ entry: [{ id: account, time: secondsNow(), changes: [{ field, value }] }] })
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
    await provider.report(
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
    // Two times would be two entries.
    const timestamp = secondsNow()
    const say = (value: string) =>
      provider.report(
        bodyOf(
          changeOf(
            company.phoneNumberId,
            { user_preferences: [{ wa_id: from, category: 'marketing_messages', value, timestamp }] },
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
      select value, source from consents where contact_id = ${contact.id} order by id
    `
    expect(history).toMatchObject([
      { value: false, source: 'provider' },
      { value: true, source: 'provider' },
    ])
  })

  test('quality events change the daily limit of the number that they name', async () => {
    const quality = async (value: object) => {
      await provider.report({
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
