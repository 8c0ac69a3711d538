import { expect, test } from 'vitest'
import { bodyOf, changeOf, inboxOf, newWamid, secondsNow, textFrom } from '../provider-webhook.ts'
import { DEMO_ACCOUNT, uniquePhone } from '../service.ts'
import { startInbound } from './inbound-world.ts'

const { service, company, provider, inbox } = await startInbound()

const event = (field: string, value: object, time = secondsNow()) =>
  provider.report({ entry: [{ id: DEMO_ACCOUNT, time, changes: [{ field, value }] }] })

const journal = async (path = `/companies/${company.companyId}/account-events`) => {
  const { status, body } = await service.operator('GET', path)
  expect(status).toBe(200)
  return body as { field: string; event: string | null; severity: string; details: unknown; companyId: number }[]
}

const named = { message_template_name: 'shipping_notice', message_template_language: 'en_US' }
const templateOf = async () => {
  const { body } = await company.api('GET', '/templates/whatsapp')
  return body.data.find(
    (one: { name: string; language: string }) => one.name === 'shipping_notice' && one.language === 'en_US',
  )
}
const sendTemplate = (components: object[]) =>
  company.api('POST', '/templates/whatsapp/send', {
    recipient: uniquePhone(),
    type: 'template',
    template: { name: 'shipping_notice', languageCode: 'en_US', components },
  })

test('every event about an account is in the journal of its company, once, with its weight', async () => {
  await event('account_update', { event: 'ACCOUNT_RESTRICTION', restriction_info: [{ restriction_type: 'X' }] }, 1000)
  await event('account_update', { event: 'ACCOUNT_RESTRICTION', restriction_info: [{ restriction_type: 'X' }] }, 1000)
  await event('account_alerts', { alert_severity: 'WARNING', alert_type: 'OBA_REJECTED' })
  await event('account_review_update', { decision: 'REJECTED' })
  await event('security', { event: 'PIN_CHANGED' })
  await event('something_of_tomorrow', { from: '393331234567' })
  const rows = await journal()
  expect(rows.map(({ field, event, severity, details }) => [field, event, severity, details])).toEqual([
    ['something_of_tomorrow', null, 'info', null],
    ['security', 'PIN_CHANGED', 'warning', { event: 'PIN_CHANGED' }],
    ['account_review_update', 'REJECTED', 'warning', { decision: 'REJECTED' }],
    ['account_alerts', 'OBA_REJECTED', 'warning', { alert_severity: 'WARNING', alert_type: 'OBA_REJECTED' }],
    [
      'account_update',
      'ACCOUNT_RESTRICTION',
      'critical',
      { event: 'ACCOUNT_RESTRICTION', restriction_info: [{ restriction_type: 'X' }] },
    ],
  ])
  expect((await journal('/account-events?limit=1')).map(({ companyId }) => companyId)).toEqual([company.companyId])
  const { body } = await service.operator('GET', '/companies/999999/account-events')
  expect(body).toEqual({ message: 'Company not found' })
})

test('an event that is older than the one that set a value changes nothing', async () => {
  // A time ahead of the arrival counts as the arrival.
  const now = secondsNow() - 100
  await event('message_template_status_update', { ...named, event: 'DISABLED' }, now)
  await event('message_template_status_update', { ...named, event: 'APPROVED' }, now - 60)
  expect(await templateOf()).toMatchObject({ status: 'DISABLED' })
  await event('message_template_quality_update', { ...named, new_quality_score: 'GREEN' }, now - 60)
  expect(await templateOf()).toMatchObject({ quality_score: { score: 'GREEN' } })
  await event('message_template_status_update', { ...named, event: 'APPROVED' }, now + 1)
  expect(await templateOf()).toMatchObject({ status: 'APPROVED' })

  const { phoneNumber: display_phone_number } = company.sender
  const limitAt = async (current_limit: string, time: number) => {
    await event('phone_number_quality_update', { display_phone_number, event: 'UPGRADE', current_limit }, time)
    const [row] = await service.db`select daily_limit from senders where phone_number_id = ${company.phoneNumberId}`
    return row?.dailyLimit
  }
  expect(await limitAt('TIER_100K', now)).toBe(100_000)
  expect(await limitAt('TIER_1K', now - 3600)).toBe(100_000)
  await event('business_capability_update', { max_daily_conversations_per_business: -1 }, now + 1)
  expect(await limitAt('TIER_1K', now)).toBeNull()
})

test('a paused template is refused as soon as the process has taken the event', async () => {
  const components = [{ type: 'BODY', parameters: [{ type: 'text', text: 'A-1' }] }]
  // The process remembers the template now.
  await sendTemplate(components)
  await event('message_template_status_update', { ...named, event: 'PAUSED' }, secondsNow() + 2)
  expect((await sendTemplate(components)).body.error?.code).toBe('template_not_approved')
  await event('message_template_status_update', { ...named, event: 'APPROVED' }, secondsNow() + 3)
})

test('changed contents of a template count for the next send', async () => {
  await event('message_template_components_update', {
    ...named,
    message_template_element: 'Hello {{1}}, your parcel {{2}} of {{3}} is on its way.',
    message_template_footer: 'Acme',
  })
  const template = await templateOf()
  expect(template.components).toMatchObject([
    { type: 'BODY', text: 'Hello {{1}}, your parcel {{2}} of {{3}} is on its way.' },
    { type: 'FOOTER', text: 'Acme' },
  ])
  const { status, body } = await sendTemplate([{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }])
  expect([status, body.error.details]).toEqual([422, { component: 'BODY', expected: 3, given: 1 }])
})

test('messages, the agent’s answers and statuses under standby are recorded like all others', async () => {
  const from = uniquePhone()
  const metadata = changeOf(company.phoneNumberId, {}).value
  await provider.report(
    bodyOf({
      field: 'standby',
      value: {
        ...metadata,
        messages: [textFrom(from, 'Is it open today?')],
        message_echoes: [
          { id: newWamid(), to: from, timestamp: String(secondsNow() + 1), type: 'text', text: { body: 'Until six.' } },
        ],
      },
    }),
  )
  const { chatId } = await inbox.find(from)
  const messages = await inboxOf(company).messages(chatId)
  expect(messages.map(({ text, direction }: { text: string; direction: string }) => [text, direction])).toEqual([
    ['Until six.', 'outbound'],
    ['Is it open today?', 'inbound'],
  ])
})

test('the agent’s answers in value.standby are echoes of the conversation that the agent controls', async () => {
  const [from, wamid] = [uniquePhone(), newWamid()]
  const { metadata } = changeOf(company.phoneNumberId, {}).value
  const standby = (lists: object) => provider.report(bodyOf({ field: 'standby', value: { metadata, standby: lists } }))
  await standby({ contacts: [{ wa_id: from }], messages: [textFrom(from, 'Is it open today?')] })
  await standby({
    message_echoes: [
      {
        id: wamid,
        timestamp: String(secondsNow() + 1),
        message: { to: from, type: 'text', text: { body: 'Until six.' } },
      },
    ],
  })
  await standby({ statuses: [{ id: wamid, status: 'delivered', timestamp: String(secondsNow()), recipient_id: from }] })
  const { chatId, unreadMessages } = await inbox.find(from)
  expect(unreadMessages).toBe(0)
  expect(await inboxOf(company).messages(chatId)).toMatchObject([
    { text: 'Until six.', direction: 'outbound', status: 'delivered' },
    { text: 'Is it open today?', direction: 'inbound' },
  ])
})
