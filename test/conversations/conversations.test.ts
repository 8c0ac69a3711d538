import { describe, expect, test } from 'vitest'
import { inboxOf, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'

const LIST = '/whatsapp/conversations'
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
type Company = Awaited<ReturnType<TestService['createCompany']>>
const service = await startTestService({ mirrors: true })
const provider = providerOf(service)

describe('the records', () => {
  test('of a conversation and its messages are exactly those of the specification and the decisions', async () => {
    const company = await service.createCompany()
    const inbox = inboxOf(company)
    const from = uniquePhone()
    const at = secondsNow() - 30
    const contacts = [{ wa_id: from, profile: { name: 'Ada' } }]
    const image = { ...textFrom(from, ''), type: 'image', image: { id: '42', mime_type: 'image/png', caption: 'Look' } }
    await provider.report({
      entry: [
        {
          changes: [
            {
              field: 'messages',
              value: {
                metadata: { phone_number_id: company.phoneNumberId },
                contacts,
                messages: [{ ...image, text: undefined, timestamp: String(at) }],
              },
            },
          ],
        },
      ],
    })
    const { body, status } = await company.api('GET', LIST)
    expect([status, body]).toEqual([
      200,
      {
        data: [
          {
            chatId: expect.any(Number),
            contact: { id: expect.any(Number), phone: from, name: 'Ada', userId: null },
            sender: { channelId: company.sender.channelId, phoneNumber: company.sender.phoneNumber, phoneName: 'Acme' },
            window: { isOpen: true, closesAt: new Date((at + 24 * 3600) * 1000).toISOString() },
            assignee: null,
            controlledBy: null,
            referral: null,
            groupId: null,
            status: 'open',
            unreadMessages: 1,
            lastMessage: {
              id: expect.any(Number),
              text: 'Look',
              direction: 'inbound',
              status: 'received',
              kind: 'image',
              itemCount: null,
              timestamp: at,
              timestampIso: new Date(at * 1000).toISOString(),
            },
            createdAt: expect.stringMatching(ISO),
            updatedAt: expect.stringMatching(ISO),
          },
        ],
        pagination: {
          ...{ totalRecords: 1, currentPage: 1, totalPages: 1, nextPage: null, prevPage: null },
          ...{ nextCursor: null, previousCursor: null },
        },
      },
    ])
    const [{ chatId, contact }] = body.data
    const messages = await company.api('GET', `${LIST}/${chatId}/messages`)
    expect(messages.body).toEqual({
      data: [
        {
          id: expect.any(Number),
          wamid: image.id,
          direction: 'inbound',
          type: 'image',
          text: 'Look',
          media: { url: expect.stringMatching(/^http/), type: 'image/png', filename: null, voice: false },
          reaction: null,
          status: 'received',
          error: null,
          pricing: null,
          senderName: 'Ada',
          timestamp: at,
          timestampIso: new Date(at * 1000).toISOString(),
          editedAt: null,
          revokedAt: null,
          content: null,
          quotedWamid: null,
          quotedMessageId: null,
          ...{ kind: 'image', reply: null, location: null, contacts: null, order: null, quoted: null },
          ...{ referral: null, forwarded: false, frequentlyForwarded: false, referredProduct: null, call: null },
        },
      ],
      pagination: { totalRecords: 1, currentPage: 1, totalPages: 1, nextPage: null, prevPage: null },
    })
    const name = async (change: object) => {
      await company.api('PUT', `/contacts/${contact.id}`, change)
      return (await inbox.find(from)).contact.name
    }
    expect(await name({ firstName: 'Grace' })).toBe('Grace')
    expect(await name({ lastName: 'Hopper' })).toBe('Grace Hopper')
  })

  test('of what the specification has no type for', async () => {
    const company = await service.createCompany()
    const from = uniquePhone()
    const of = (type: string, content: object) => ({ ...textFrom(from, ''), text: undefined, type, [type]: content })
    await provider.messages(
      company.phoneNumberId,
      of('sticker', { id: '1', mime_type: 'image/webp' }),
      of('location', { latitude: 1, longitude: 2, name: 'Duomo' }),
      of('location', { latitude: 1, longitude: 2 }),
      of('contacts', [{}] as unknown as object),
      of('interactive', { type: 'list_reply', list_reply: { id: 'a', title: 'Blue' } }),
      of('button', { text: 'Yes', payload: 'y' }),
      of('order', { catalog_id: '1' }),
      of('audio', { id: '2', mime_type: 'audio/ogg', voice: true }),
      of('document', { id: '3', mime_type: 'application/pdf', filename: 'a.pdf' }),
    )
    const { chatId } = await inboxOf(company).find(from)
    const rows = (await inboxOf(company).messages(chatId)).reverse()
    expect(rows.map(({ type, text }) => [type, text])).toEqual([
      ['image', '[sticker]'],
      ['text', 'Duomo'],
      ['text', '[location]'],
      ['text', '[contacts]'],
      ['text', 'Blue'],
      ['text', 'Yes'],
      ['text', '[order]'],
      ['audio', '[audio]'],
      ['document', '[document]'],
    ])
    expect(rows.at(-1).media).toMatchObject({ filename: 'a.pdf', type: 'application/pdf' })
  })
})

describe('status and unread', () => {
  test('closing, snoozing, re-opening and marking read; an inbound message re-opens', async () => {
    const company = await service.createCompany()
    const inbox = inboxOf(company)
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(from, 'one'), textFrom(from, 'two'))
    const { chatId } = await inbox.find(from)
    const patch = (body: unknown, id: number | string = chatId) => company.api('PATCH', `${LIST}/${id}`, body)
    expect((await patch({ status: 'closed' })).body.data).toMatchObject({ chatId, status: 'closed', unreadMessages: 2 })
    expect((await patch({ unreadMessages: 0 })).body.data).toMatchObject({ status: 'closed', unreadMessages: 0 })
    await provider.messages(company.phoneNumberId, textFrom(from, 'three'))
    expect(await inbox.find(from)).toMatchObject({ status: 'open', unreadMessages: 1 })
    await patch({ status: 'snoozed' })
    await provider.echoes(company.phoneNumberId, { ...textFrom('1', 'ours'), to: from })
    expect(await inbox.find(from)).toMatchObject({ status: 'snoozed', unreadMessages: 0 })
    await provider.messages(company.phoneNumberId, textFrom(from, 'four'))
    expect((await inbox.find(from)).status).toBe('open')
    await company.api('POST', '/templates/whatsapp/send', { recipient: from, type: 'text', text: 'answer' })
    expect(await inbox.find(from)).toMatchObject({ unreadMessages: 0, lastMessage: { direction: 'outbound' } })

    expect((await patch({})).status).toBe(400)
    for (const wrong of [{ status: 'gone' }, { unreadMessages: 3 }, { status: null }]) {
      expect((await patch(wrong)).status, JSON.stringify(wrong)).toBe(422)
    }
    const foreign = await service.createCompany()
    for (const [who, id] of [
      [foreign, chatId],
      [company, 999_999_999],
      [company, 'x'],
    ] as [Company, number | string][]) {
      const answer = await who.api('PATCH', `${LIST}/${id}`, { status: 'closed' })
      expect([answer.status, answer.body]).toEqual([404, { message: 'Conversation not found' }])
    }
    expect((await inbox.find(from)).status).toBe('open')
  })
})
