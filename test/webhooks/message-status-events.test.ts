import { describe, expect, test } from 'vitest'
import { newWamid, secondsNow, textFrom } from '../provider-webhook.ts'
import { uniquePhone } from '../service.ts'
import { byTime, startEvents, statusOf } from './events-world.ts'

const { service, provider, subscribe, sendText, loseOutcome, eventIds } = await startEvents()

describe('whatsapp.message.status', () => {
  test('comes once for each status, in the order of rank, whatever the order of the reports', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
    const { wamid, messageId, chatId } = await sendText(company)
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'read'))
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'delivered'), statusOf(wamid, 'sent'))
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'read'))
    const got = await bodies(3)
    expect(await eventIds(company.companyId)).toEqual(
      ['sent', 'delivered', 'read'].map((status) => `msg_${messageId}.${status}`),
    )
    expect(got).toHaveLength(3)
    const read = got.find(({ change }) => change === 'read')
    expect(read).toMatchObject({
      version: '1',
      event: 'whatsapp.message.status',
      id: `msg_${messageId}.read`,
      companyId: company.companyId,
      data: {
        id: messageId,
        wamid,
        direction: 'outbound',
        status: 'read',
        text: 'Your order is ready',
        error: null,
        chatId,
      },
    })
    expect(got.find(({ change }) => change === 'sent').data.status).toBe('sent')
  })

  test('says why a message failed', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
    const { wamid } = await sendText(company)
    const errors = [{ code: 131026, title: 'Message undeliverable', error_data: { details: 'Not on WhatsApp' } }]
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'failed', { errors }))
    const failed = (await bodies(2)).find(({ change }) => change === 'failed')
    expect(failed.data).toMatchObject({
      status: 'failed',
      error: { code: 131026, title: 'Message undeliverable', details: 'Not on WhatsApp' },
    })
  })

  test('says that a message failed, and why, also when it is reported as delivered in the same body', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
    const { wamid, messageId } = await sendText(company)
    const errors = [{ code: 131053, title: 'Media upload error', error_data: { details: 'Too large' } }]
    const failed = statusOf(wamid, 'failed', { errors })
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'delivered'), failed, failed)
    const got = await bodies(3)
    expect(await eventIds(company.companyId)).toEqual(
      ['sent', 'failed', 'delivered'].map((status) => `msg_${messageId}.${status}`),
    )
    const errorOf = (status: string) => got.find(({ change }) => change === status).data.error
    expect(errorOf('failed')).toEqual({ code: 131053, title: 'Media upload error', details: 'Too large' })
    expect(errorOf('delivered')).toBeNull()
  })

  describe('of a send whose outcome was lost', () => {
    const errors = [{ code: 131053, title: 'Media upload error' }]
    test.each<[string, object[][], string[]]>([
      ['failed', [[{ status: 'failed', errors }]], ['sent', 'failed']],
      [
        'failed, then delivered',
        [[{ status: 'failed', errors }], [{ status: 'delivered' }]],
        ['sent', 'failed', 'delivered'],
      ],
      ['sent and failed at once', [[{ status: 'sent' }, { status: 'failed', errors }]], ['sent', 'failed']],
      ['failed, then sent', [[{ status: 'failed', errors }], [{ status: 'sent' }]], ['sent', 'failed']],
      ['read', [[{ status: 'read' }]], ['sent', 'delivered', 'read']],
    ])('comes for each status if the provider reports %s', async (_, posted, statuses) => {
      const company = await service.createCompany()
      const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
      const { messageId } = await loseOutcome(company, { resetBeforeAnswer: true })
      const report = { id: newWamid(), timestamp: String(secondsNow()), recipient_id: '393331234567' }
      const reference = { biz_opaque_callback_data: String(messageId) }
      for (const body of posted) {
        await provider.statuses(
          company.phoneNumberId,
          ...body.map((status) => ({ ...report, ...reference, ...status })),
        )
      }
      await bodies(statuses.length)
      expect(await eventIds(company.companyId)).toEqual(statuses.map((status) => `msg_${messageId}.${status}`))
    })

    test('comes as sent and delivered for a refused message that the provider delivers all the same', async () => {
      const company = await service.createCompany()
      const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
      const { messageId } = await loseOutcome(company, { refuseWithCode: 131000 })
      const report = { ...statusOf(newWamid(), 'delivered'), biz_opaque_callback_data: String(messageId) }
      await provider.statuses(company.phoneNumberId, report)
      expect(byTime(await bodies(3)).toSorted()).toEqual(['delivered', 'failed', 'sent'])
    })
  })

  test('comes for a refused send', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(from, 'Hello'))
    await service.control('PUT', '/behaviour', { refuseWithCode: 131026 })
    const text = { recipient: from, sender: company.phoneNumberId, type: 'text', text: 'Your order is ready' }
    const refused = await company.api('POST', '/templates/whatsapp/send', text)
    await service.control('PUT', '/behaviour', { refuseWithCode: null })
    expect(refused.status).toBe(422)
    const got = await bodies(1)
    expect(byTime(got)).toEqual(['failed'])
    expect(got[0].data).toMatchObject({ status: 'failed', error: { code: 131026 } })
  })

  test('comes for a message from the phone app', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
    const wamid = newWamid()
    await provider.echoes(company.phoneNumberId, {
      ...textFrom('390000000', 'On my way'),
      id: wamid,
      to: uniquePhone(),
    })
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'delivered'))
    expect(byTime(await bodies(2)).sort()).toEqual(['delivered', 'sent'])
  })

  test('is for the numbers of a registration alone', async () => {
    const company = await service.createCompany()
    const other = (await service.connectSender(company.companyId)).body
    const one = await subscribe(company.api, ['whatsapp.message.status', 'contact.changed'], {
      channelIds: [other.channelId],
    })
    const all = await subscribe(company.api, ['whatsapp.message.status'])
    await sendText(company)
    await sendText({ ...company, phoneNumberId: other.phoneNumberId, api: company.api })
    await all.bodies(2)
    const got = await one.bodies(2)
    expect(got.filter(({ event }) => event === 'contact.changed')).toHaveLength(2)
    const { id } = company.sender
    expect(got.some(({ event, data }) => event === 'whatsapp.message.status' && data.sender.channelId === id)).toBe(
      false,
    )
  })
})
