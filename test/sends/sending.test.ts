import { beforeAll, describe, expect, test } from 'vitest'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { SEND } from '../providers/transports-world.ts'
import { eventually, uniquePhone } from '../service.ts'
import { buttons, type Connected, cards, INTERACTIVE, link, list, place, shown, startSending } from './sending-world.ts'

const { service, connected, written, takenBy } = await startSending()

describe.each(PROVIDER_NAMES)('through %s', (provider) => {
  let number: Connected
  beforeAll(async () => {
    number = await connected(provider)
  })
  const send = (content: object) => number.api('POST', SEND, content)

  /** Sends to a customer whose window is open. */
  async function sent(content: object) {
    const { from: recipient, chatId } = await written(number)
    const { status, body: answer } = await send({ recipient, ...content })
    expect([status, answer.error]).toEqual([200, undefined])
    const { messageId } = answer.data
    const { body: taken, wamid } = await takenBy(recipient)
    return { recipient, chatId, messageId, taken, wamid, record: await shown(number, chatId, messageId) }
  }

  test.each(INTERACTIVE)('sends %s, and shows it', async (_, interactive) => {
    const { taken, recipient, record, messageId } = await sent({ type: 'interactive', interactive })
    expect(taken).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: recipient,
      type: 'interactive',
      interactive,
      biz_opaque_callback_data: String(messageId),
    })
    expect(record).toMatchObject({
      type: 'text',
      text: interactive.body.text,
      status: 'sent',
      content: { type: 'interactive', interactive },
      quotedWamid: null,
      quotedMessageId: null,
    })
  })

  test('sends a file of the number above buttons', async () => {
    const id = await service.uploadMedia(number.phoneNumberId)
    const interactive = { ...buttons('Yes'), header: { type: 'image', image: { id } } }
    expect((await sent({ type: 'interactive', interactive })).taken.interactive.header.image).toEqual({ id })
  })

  test('sends a location, and shows it', async () => {
    const { taken, record } = await sent({ type: 'location', location: place })
    expect([taken.type, taken.location]).toEqual(['location', place])
    expect(record).toMatchObject({ type: 'text', text: 'Duomo', content: { type: 'location', location: place } })
    const unnamed = await sent({ type: 'location', location: { latitude: 0, longitude: 0 } })
    expect(unnamed.record).toMatchObject({ text: '[location]' })
  })

  test('sends contacts, and shows them', async () => {
    const { taken, record } = await sent({ type: 'contacts', contacts: cards })
    expect([taken.type, taken.contacts]).toEqual(['contacts', cards])
    expect(record).toMatchObject({ type: 'text', text: '[contacts]', content: { type: 'contacts', contacts: cards } })
  })

  test('sends a reaction, shows it on its message, and removes it', async () => {
    const { from: recipient, wamid, messageId, chatId } = await written(number)
    const react = (emoji: string | null) => send({ recipient, type: 'reaction', reaction: { messageId, emoji } })
    const { status, body: answer } = await react('👍🏽')
    expect(status).toBe(200)
    expect((await takenBy(recipient)).body).toMatchObject({
      type: 'reaction',
      reaction: { message_id: wamid, emoji: '👍🏽' },
    })
    expect((await shown(number, chatId, messageId)).reaction).toBe('👍🏽')
    expect(await shown(number, chatId, answer.data.messageId)).toMatchObject({
      direction: 'outbound',
      text: '👍🏽',
      content: { type: 'reaction', reaction: { messageId, emoji: '👍🏽' } },
      quotedWamid: null,
    })
    for (const none of [null, '']) {
      await react('🎉')
      expect((await shown(number, chatId, messageId)).reaction).toBe('🎉')
      const removed = await react(none)
      expect((await takenBy(recipient)).body.reaction).toEqual({ message_id: wamid, emoji: '' })
      expect((await shown(number, chatId, messageId)).reaction).toBeNull()
      expect(await shown(number, chatId, removed.body.data.messageId)).toMatchObject({
        text: '[reaction removed]',
        content: { type: 'reaction', reaction: { messageId, emoji: null } },
      })
    }
  })

  test('takes a reaction back that the provider fails later, and sets none that it refuses', async () => {
    const { from: recipient, messageId, chatId } = await written(number)
    const reaction = { recipient, type: 'reaction', reaction: { messageId, emoji: '👍' } }
    const { body: answer } = await send(reaction)
    const { wamid } = await takenBy(recipient)
    await service.control('POST', '/status', { wamid, status: 'failed', errors: [{ code: 131009, title: 'Gone' }] })
    await eventually(async () => (await shown(number, chatId, answer.data.messageId)).status === 'failed')
    expect((await shown(number, chatId, messageId)).reaction).toBeNull()
    await service.control('PUT', '/behaviour', { refuseWithCode: 131000 })
    expect((await send(reaction)).status).toBe(500)
    await service.control('PUT', '/behaviour', { refuseWithCode: null })
    expect((await shown(number, chatId, messageId)).reaction).toBeNull()
  })

  const named = [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }]
  test.each<[string, object]>([
    ['text', { type: 'text', text: 'Yes' }],
    ['image', { type: 'image', media: { link } }],
    ['video', { type: 'video', media: { link } }],
    ['audio', { type: 'audio', media: { link } }],
    ['document', { type: 'document', media: { link } }],
    ['sticker', { type: 'sticker', media: { link } }],
    ['template', { type: 'template', template: { name: 'news', components: named } }],
    ['interactive', { type: 'interactive', interactive: buttons('Yes') }],
    ['location', { type: 'location', location: place }],
    ['contacts', { type: 'contacts', contacts: cards }],
  ])('answers a message with %s', async (_, content) => {
    const { from: recipient, wamid, messageId, chatId } = await written(number)
    const { status, body: answer } = await send({ recipient, ...content, quoted: messageId })
    expect([status, answer.error]).toEqual([200, undefined])
    expect((await takenBy(recipient)).body.context).toEqual({ message_id: wamid })
    const record = await shown(number, chatId, answer.data.messageId)
    expect(record).toMatchObject({ quotedWamid: wamid, quotedMessageId: messageId })
  })

  test('quotes and reacts in a reply of a conversation as well', async () => {
    const { from, wamid, messageId, chatId } = await written(number)
    const reply = (content: object) => number.api('POST', `/whatsapp/conversations/${chatId}/messages`, content)
    expect((await reply({ type: 'location', location: place, quoted: messageId })).status).toBe(200)
    expect((await takenBy(from)).body).toMatchObject({ location: place, context: { message_id: wamid } })
    expect((await reply({ type: 'reaction', reaction: { messageId, emoji: '🙏' } })).status).toBe(200)
    expect((await shown(number, chatId, messageId)).reaction).toBe('🙏')
  })

  test('answers 404 for a message that is missing, of another conversation or of another company', async () => {
    const { from: recipient } = await written(number)
    const elsewhere = await written(number)
    const other = await connected(provider)
    const foreign = await written(other)
    for (const messageId of [elsewhere.messageId, foreign.messageId, 987654321012]) {
      for (const content of [
        { type: 'text', text: 'x', quoted: messageId },
        { type: 'reaction', reaction: { messageId, emoji: '👍' } },
      ]) {
        const answer = await send({ recipient, ...content })
        expect([answer.status, answer.body]).toEqual([404, { message: 'Message not found' }])
      }
    }
  })

  test.each<[string, object, object, object]>([
    [
      'a button',
      buttons('Yes', 'No'),
      { type: 'button_reply', button_reply: { id: 'no', title: 'No' } },
      { id: 'no', title: 'No', payload: null, responseJson: null },
    ],
    [
      'a row',
      list,
      { type: 'list_reply', list_reply: { id: 'mon', title: 'Monday', description: '' } },
      { id: 'mon', title: 'Monday', payload: null, responseJson: null },
    ],
    [
      'the answers of a flow',
      INTERACTIVE.at(-1)![1],
      { type: 'nfm_reply', nfm_reply: { name: 'flow', body: 'Sent', response_json: '{"day":"fri"}' } },
      { id: null, title: 'Sent', payload: null, responseJson: '{"day":"fri"}' },
    ],
  ])('the choice of %s comes back, tied to the message that asked', async (_, interactive, answered, reply) => {
    const asked = await sent({ type: 'interactive', interactive })
    if (provider === 'gupshup') await service.control('POST', '/status', { wamid: asked.wamid, status: 'enqueued' })
    const context = { id: asked.wamid, from: '390000000' }
    const choice = { type: 'interactive', text: undefined, interactive: answered, context }
    const chosen = await written(number, asked.recipient, choice)
    await eventually(async () => (await shown(number, asked.chatId, chosen.messageId)).quotedMessageId !== null)
    expect(await shown(number, asked.chatId, chosen.messageId)).toMatchObject({
      content: { type: 'reply', reply },
      quotedWamid: asked.wamid,
      quotedMessageId: asked.messageId,
    })
  })

  test('a shared contact and a location are shown', async () => {
    const { from, chatId } = await written(number)
    const request = [{ origin: 'contact_request', phones: [{ phone: '+39 333\u0000', wa_id: '39333' }] }]
    const contact = await written(number, from, { type: 'contacts', text: undefined, contacts: request })
    const location = await written(number, from, { type: 'location', text: undefined, location: place })
    expect((await shown(number, chatId, contact.messageId)).content).toEqual({
      type: 'contacts',
      contacts: [{ origin: 'contact_request', phones: [{ phone: '+39 333\uFFFD', wa_id: '39333' }] }],
    })
    expect((await shown(number, chatId, location.messageId)).content).toEqual({ type: 'location', location: place })
  })

  test('sends later, in a conversation that is open by then', async () => {
    const { from, chatId } = await written(number)
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const { status, body: answer } = await number.api('POST', `/whatsapp/conversations/${chatId}/messages`, {
      type: 'interactive',
      interactive: buttons('Yes'),
      sendAt,
    })
    expect([status, answer.data]).toMatchObject([202, { status: 'scheduled', chatId, type: 'interactive', sendAt }])
    await service.db`
      update jobs set due_at = now() where kind = 'message.send' and company_id = ${number.companyId}
    `
    const path = `/whatsapp/scheduled-messages/${answer.data.id}`
    const { messageId } = await eventually(async () => {
      const { data } = (await number.api('GET', path)).body
      return data.status === 'sent' && data
    })
    await eventually(async () => (await shown(number, chatId, messageId)).status === 'sent')
    expect((await takenBy(from)).body).toMatchObject({ type: 'interactive', interactive: buttons('Yes') })
  })

  test('needs an open window', async () => {
    for (const content of [
      { type: 'location', location: place },
      { type: 'interactive', interactive: buttons('Yes') },
    ]) {
      const { status, body: answer } = await send({ recipient: uniquePhone(), ...content })
      expect([status, answer.error.code]).toEqual([422, 'session_window_closed'])
    }
  })

  test('says which transport does not offer a type', async () => {
    const { from: recipient } = await written(number)
    await service.control('PUT', '/behaviour', { refuseWithCode: 131051 })
    const { status, body: answer } = await send({ recipient, type: 'location', location: place })
    await service.control('PUT', '/behaviour', { refuseWithCode: null })
    expect([status, answer.error.details]).toEqual([
      422,
      { fields: [{ path: 'type', message: `location is not supported by the transport ${provider}` }] },
    ])
  })

  test('marks messages as read, and shows that an answer is written', async () => {
    const { from, chatId } = await written(number)
    const { wamid } = await written(number, from)
    const call = (path: string) => number.api('POST', `/whatsapp/conversations/${chatId}/${path}`)
    const receipts = async () => (await service.control('GET', '/receipts')).body
    const unread = async () => (await number.api('GET', `/whatsapp/conversations/${chatId}`)).body.data.unreadMessages
    expect(await unread()).toBe(2)
    const typing = await call('typing')
    expect([typing.status, typing.body]).toEqual([200, { success: true }])
    const { phoneNumberId } = number
    expect((await receipts())[0]).toMatchObject({ wamid, phoneNumberId, isTyping: true })
    const read = await call('read')
    expect([read.status, read.body]).toEqual([200, { success: true }])
    expect((await receipts())[0]).toMatchObject({ wamid, phoneNumberId, isTyping: false })
    expect(await unread()).toBe(0)
  })
})
