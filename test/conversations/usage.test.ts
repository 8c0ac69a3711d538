import { describe, expect, test } from 'vitest'
import { recordStatuses } from '../../src/conversations/recording/status-store.ts'
import type { StatusRecord } from '../../src/conversations/recording/waiting-store.ts'
import { startInbound } from '../inbound/inbound-world.ts'
import { secondsNow, textFrom } from '../provider-webhook.ts'
import { eventually, uniquePhone } from '../service.ts'
import { statusRecord } from '../world.ts'

const NOW = new Date('2026-11-03T12:00:00Z')
const clock = { now: () => NOW }
const { service, provider, sendTo } = await startInbound({ clock })

type Company = Awaited<ReturnType<typeof service.createCompany>>

const DAYS = 'from=2026-11-01&to=2026-11-30'
const usageOf = async ({ api }: Company, query = 'groupBy=category') => {
  const { status, body } = await api('GET', `/whatsapp/usage?${DAYS}&${query}`)
  expect(status).toBe(200)
  return body.data as Record<string, unknown>[]
}
const UTILITY = { billable: true, pricing_model: 'PMP', type: 'regular', category: 'utility' }
const statusOf = (wamid: string, status: string, more: object = {}) => ({
  id: wamid,
  status,
  timestamp: String(secondsNow()),
  recipient_id: '393331234567',
  ...more,
})
const messageOf = async ({ api }: Company, { chatId, messageId }: { chatId: number; messageId: number }) =>
  (await api('GET', `/whatsapp/conversations/${chatId}/messages/${messageId}`)).body.data.message

describe('usage', () => {
  test('counts each message once, however often and in whatever order its statuses come', async () => {
    const company = await service.createCompany()
    const first = await sendTo(uniquePhone(), company)
    const second = await sendTo(uniquePhone(), company)
    const third = await sendTo(uniquePhone(), company)
    const read = statusOf(first.wamid, 'read', { pricing: UTILITY })
    const sent = statusOf(first.wamid, 'sent', { pricing: UTILITY })
    const free = { ...UTILITY, type: 'free_customer_service' }
    const delivered = statusOf(second.wamid, 'delivered', { pricing: free })
    const failed = statusOf(third.wamid, 'failed', { errors: [{ code: 131026, title: 'Undeliverable' }] })
    await provider.statuses(company.phoneNumberId, read, delivered, failed)
    const counts = { sent: 2, delivered: 2, read: 1, failed: 1, billable: 1 }
    expect(await usageOf(company)).toEqual([{ category: 'utility', ...counts }])
    await provider.statuses(company.phoneNumberId, sent, read, delivered, failed)
    await provider.statuses(company.phoneNumberId, { ...read, timestamp: '1' }, statusOf(first.wamid, 'delivered'))

    expect(await usageOf(company)).toEqual([{ category: 'utility', ...counts }])
    expect(await usageOf(company, 'groupBy=day')).toEqual([{ day: '2026-11-03', ...counts }])
    expect(await usageOf(company, '')).toEqual([{ day: '2026-11-03', ...counts }])
    expect(await usageOf(company, 'groupBy=number')).toEqual([{ channelId: company.sender.channelId, ...counts }])
    expect(await usageOf(company, 'groupBy=template')).toEqual([{ template: 'shipping_notice', ...counts }])
  })

  test('statuses of one message in two transactions at the same time count once', async () => {
    const company = await service.createCompany()
    const { wamid } = await sendTo(uniquePhone(), company)
    const record = (status: StatusRecord['status']) =>
      statusRecord({
        ...{ companyId: company.companyId, senderId: company.sender.channelId, wamid, status },
        ...{ occurredAt: NOW, pricing: UTILITY },
      })
    const { db } = service
    let second: Promise<unknown> | undefined
    await db.begin(async (first) => {
      await recordStatuses(first, [record('read')], NOW)
      second = db.begin((tx) => recordStatuses(tx, [record('delivered'), record('sent')], NOW))
      await eventually(
        async () => (await db`select from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0`).length > 0,
      )
    })
    await second
    expect(await usageOf(company)).toEqual([
      { category: 'utility', sent: 1, delivered: 1, read: 1, failed: 0, billable: 1 },
    ])
  })

  test('has messages without pricing in the category of their template, until a status has one', async () => {
    const company = await service.createCompany()
    const to = uniquePhone()
    const { wamid } = await sendTo(to, company)
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'sent'))
    const [before] = await usageOf(company)
    expect(before).toMatchObject({ category: 'utility', sent: 1, delivered: 0, billable: 0 })
    const pricing = { ...UTILITY, category: 'MARKETING_LITE' }
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'delivered', { pricing }))
    expect(await usageOf(company)).toEqual([
      { category: 'marketing_lite', sent: 1, delivered: 1, read: 0, failed: 0, billable: 1 },
    ])
  })

  test('has answers without pricing as service, without a template', async () => {
    const company = await service.createCompany()
    const to = uniquePhone()
    const message = textFrom(to, 'Hi', { timestamp: String(Math.floor(NOW.getTime() / 1000)) })
    await provider.messages(company.phoneNumberId, message)
    const answer = await company.api('POST', '/templates/whatsapp/send', { recipient: to, type: 'text', text: 'Yes' })
    expect(answer.status).toBe(200)
    await provider.statuses(company.phoneNumberId, statusOf(answer.body.data.wamid, 'delivered'))
    const counts = { sent: 1, delivered: 1, read: 0, failed: 0, billable: 0 }
    expect(await usageOf(company)).toEqual([{ category: 'service', ...counts }])
    expect(await usageOf(company, 'groupBy=template')).toEqual([{ template: null, ...counts }])
  })

  test('counts an echo on the day (UTC) on which it was written', async () => {
    const company = await service.createCompany()
    const to = uniquePhone()
    const written = String(Date.parse('2026-11-02T23:59:30Z') / 1000)
    const { from: _, ...echo } = textFrom('1', 'Written late', { to, timestamp: written })
    await provider.echoes(company.phoneNumberId, echo)
    await provider.statuses(company.phoneNumberId, statusOf(echo.id, 'read', { pricing: UTILITY }))
    expect(await usageOf(company, 'groupBy=day')).toEqual([
      { day: '2026-11-02', sent: 1, delivered: 1, read: 1, failed: 0, billable: 1 },
    ])
  })

  test('moves a message to the pricing that was reported last, however the reports arrive', async () => {
    const company = await service.createCompany()
    const sent = await sendTo(uniquePhone(), company)
    const reports = [
      { status: 'sent', pricing: { ...UTILITY, category: 'marketing' } },
      { status: 'delivered', pricing: { ...UTILITY, type: 'free_entry_point' } },
      { status: 'read', pricing: { ...UTILITY, category: 'service', billable: false } },
    ].map(({ status, pricing }, place) =>
      statusOf(sent.wamid, status, { pricing, timestamp: String(NOW.getTime() / 1000 - 60 + place) }),
    )
    const expectPricing = async (category: string, type: string, billable: boolean) => {
      expect(await messageOf(company, sent)).toMatchObject({ pricing: { category, type, billable } })
      expect(await usageOf(company)).toMatchObject([{ category, sent: 1, billable: billable ? 1 : 0 }])
    }
    const [first, second, third] = reports as [object, object, object]
    await provider.statuses(company.phoneNumberId, first)
    await expectPricing('marketing', 'regular', true)
    await provider.statuses(company.phoneNumberId, second)
    await expectPricing('utility', 'free_entry_point', false)
    await provider.statuses(company.phoneNumberId, third)
    await expectPricing('service', 'regular', true)
    await provider.statuses(company.phoneNumberId, second, first)
    await expectPricing('service', 'regular', true)
  })

  test.each([
    ['regular', false, true],
    ['regular', undefined, true],
    ['free_customer_service', true, false],
    ['free_entry_point', true, false],
    [undefined, true, true],
    [undefined, false, false],
    [undefined, undefined, null],
  ])('of a pricing with the type %s and billable %s is billable: %s', async (type, billable, expected) => {
    const company = await service.createCompany()
    const sent = await sendTo(uniquePhone(), company)
    const pricing = { category: 'utility', type, billable }
    await provider.statuses(company.phoneNumberId, statusOf(sent.wamid, 'delivered', { pricing }))
    expect(await messageOf(company, sent)).toMatchObject({ pricing: { billable: expected } })
    expect(await usageOf(company)).toMatchObject([{ billable: expected ? 1 : 0 }])
  })

  test('is of one company, and of the days that are asked for', async () => {
    const [company, other] = [await service.createCompany(), await service.createCompany()]
    const { wamid } = await sendTo(uniquePhone(), company)
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'sent', { pricing: UTILITY }))
    await provider.statuses(other.phoneNumberId, statusOf(wamid, 'read', { pricing: UTILITY }))
    expect(await usageOf(other)).toEqual([])
    expect(await usageOf(company)).toMatchObject([{ sent: 1, read: 0 }])
    const sentOf = async (from: string, to: string) =>
      (await company.api('GET', `/whatsapp/usage?from=${from}&to=${to}`)).body.data.length
    expect(await sentOf('2026-11-03', '2026-11-03')).toBe(1)
    expect(await sentOf('2026-11-04', '2027-11-04')).toBe(0)
    expect(await sentOf('2025-11-04', '2026-11-02')).toBe(0)
  })

  test.each([
    ['from=&to=2026-11-30', ['from']],
    ['from=yesterday&to=2026-02-30', ['from', 'to']],
    ['from=2026-11-02&to=2026-11-01', ['to']],
    ['from=2026-01-01&to=2027-01-02', ['to']],
    ['from=0000-01-01&to=2026-11-01', ['from']],
  ])('%s is answered 422 that names %j', async (query, fields) => {
    const company = await service.createCompany({ isConnected: false })
    const { status, body } = await company.api('GET', `/whatsapp/usage?${query}`)
    expect([status, body.error.code]).toEqual([422, 'validation_error'])
    expect(body.error.details.fields.map(({ path }: { path: string }) => path)).toEqual(fields)
  })

  test('a missing day is answered 400 that names it', async () => {
    const company = await service.createCompany({ isConnected: false })
    const { status, body } = await company.api('GET', '/whatsapp/usage?from=2026-11-01')
    expect([status, body.error.details.fields.map(({ path }: { path: string }) => path)]).toEqual([400, ['to']])
  })

  test('another groupBy is answered 400, and a key without WhatsApp 403', async () => {
    const company = await service.createCompany({ isConnected: false })
    const { status, body } = await company.api('GET', `/whatsapp/usage?${DAYS}&groupBy=hour`)
    expect([status, body.error.code]).toEqual([400, 'invalid_group_by'])
    const mailer = await service.createCompany({ isConnected: false, permissions: ['Transactional'] })
    expect((await mailer.api('GET', `/whatsapp/usage?${DAYS}`)).status).toBe(403)
  })
})

describe('pricing of a message', () => {
  test('is null until a status has it, and is kept', async () => {
    const company = await service.createCompany()
    const sent = await sendTo(uniquePhone(), company)
    expect(await messageOf(company, sent)).toMatchObject({ pricing: null })
    await provider.statuses(company.phoneNumberId, statusOf(sent.wamid, 'sent', { pricing: UTILITY }))
    const pricing = { category: 'utility', type: 'regular', billable: true }
    expect(await messageOf(company, sent)).toMatchObject({ pricing })
    await provider.statuses(company.phoneNumberId, statusOf(sent.wamid, 'delivered'))
    expect(await messageOf(company, sent)).toMatchObject({ status: 'delivered', pricing })
  })

  test.each([
    ['no object', 'free', null],
    ['no members', {}, null],
    ['other types', { category: ['x'], type: null, billable: 'yes' }, null],
    ['a long category', { category: 'X'.repeat(5000) }, { category: 'x'.repeat(64), type: null, billable: null }],
  ])('with %s costs the status nothing', async (_, pricing, kept) => {
    const company = await service.createCompany()
    const sent = await sendTo(uniquePhone(), company)
    await provider.statuses(company.phoneNumberId, statusOf(sent.wamid, 'delivered', { pricing }))
    expect(await messageOf(company, sent)).toMatchObject({ status: 'delivered', pricing: kept })
  })
})
