import { beforeAll, expect, test } from 'vitest'
import { inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'

let service: TestService
let provider: ReturnType<typeof providerOf>
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
  provider = providerOf(service)
})

const LOCATION = { latitude: 41.9, longitude: 12.5, name: 'Duomo' }
const CARDS = [{ name: { formatted_name: 'Mara Rossi', first_name: 'Mara' }, phones: [{ phone: '+39 333' }] }]
const item = (id: string) => ({ product_retailer_id: id, quantity: 1, item_price: 9.5, currency: 'EUR' })
const ORDER = { catalog_id: '1', text: '', product_items: [item('mug'), item('cup')] }
const NO_MORE = { location: null, contacts: null, order: null, reply: null }

const received = (from: string, type: string, content: unknown) => ({
  ...textFrom(from, ''),
  text: undefined,
  type,
  [type]: content,
})

test('a received message has its kind and the members of the envelope', async () => {
  const company = await service.createCompany()
  const from = uniquePhone()
  const choice = { type: 'list_reply', list_reply: { id: 'blue', title: 'Blue' } }
  await provider.messages(
    company.phoneNumberId,
    textFrom(from, 'Hello'),
    received(from, 'sticker', { id: '1', mime_type: 'image/webp' }),
    received(from, 'voice', { id: '2', mime_type: 'audio/ogg' }),
    received(from, 'location', LOCATION),
    received(from, 'contacts', CARDS),
    received(from, 'interactive', choice),
    received(from, 'button', { text: 'Yes', payload: 'y' }),
    received(from, 'order', ORDER),
  )
  const inbox = inboxOf(company)
  const { chatId, lastMessage } = await inbox.find(from)
  const reply = { id: null, title: null, payload: null, responseJson: null }
  const kinds: [string, object][] = [
    ['text', {}],
    ['sticker', {}],
    ['audio', {}],
    ['location', { location: LOCATION }],
    ['contacts', { contacts: CARDS }],
    ['interactive', { reply: { ...reply, id: 'blue', title: 'Blue' } }],
    ['button', { reply: { ...reply, title: 'Yes', payload: 'y' } }],
    ['order', { order: ORDER }],
  ]
  expect((await inbox.messages(chatId)).reverse()).toMatchObject(
    kinds.map(([kind, members]) => ({ kind, ...NO_MORE, ...members })),
  )
  expect(lastMessage).toMatchObject({ text: '[order]', kind: 'order', itemCount: 2 })
})

test('a sent message has its kind and what was sent', async () => {
  const company = await service.createCompany()
  const recipient = uniquePhone()
  await provider.messages(company.phoneNumberId, textFrom(recipient, 'Hello'))
  const { chatId } = await inboxOf(company).find(recipient)
  const link = 'https://shop.example.com/file'
  const parameters = [
    {
      type: 'BODY',
      parameters: [
        { type: 'text', text: 'Ada' },
        { type: 'text', text: '1' },
      ],
    },
  ]
  const sends = [
    { type: 'text', text: 'Hi' },
    { type: 'image', media: { link } },
    { type: 'sticker', media: { link } },
    { type: 'location', location: LOCATION },
    { type: 'contacts', contacts: CARDS },
    { type: 'template', template: { name: 'order_update', languageCode: 'it', components: parameters } },
  ]
  for (const send of sends) {
    const { status, body } = await company.api('POST', '/templates/whatsapp/send', { recipient, ...send })
    expect([send.type, status, body.error]).toEqual([send.type, 200, undefined])
  }
  const sent = (await inboxOf(company).messages(chatId)).reverse().slice(1)
  expect(sent.map(({ kind }: { kind: string }) => kind)).toEqual(sends.map(({ type }) => type))
  expect(sent[3]).toMatchObject({ ...NO_MORE, location: LOCATION })
  expect(sent[4]).toMatchObject({ ...NO_MORE, contacts: CARDS })
})

test('a message that answers another one holds what it quotes', async () => {
  const company = await service.createCompany()
  const from = uniquePhone()
  const asked = { ...received(from, 'location', LOCATION) }
  const long = textFrom(from, 'x'.repeat(2_000))
  const answer = (id: string) => ({ ...textFrom(from, 'This one'), context: { from, id } })
  await provider.messages(company.phoneNumberId, asked, long, answer(asked.id), answer(long.id), answer('wamid.gone'))
  const { chatId } = await inboxOf(company).find(from)
  const [first, second, ...answers] = (await inboxOf(company).messages(chatId)).reverse()
  const quoted = { direction: 'inbound', senderName: first.senderName }
  expect(answers).toMatchObject([
    { kind: 'text', quoted: { ...quoted, id: first.id, wamid: asked.id, kind: 'location', text: 'Duomo' } },
    { quoted: { ...quoted, id: second.id, wamid: long.id, kind: 'text', text: 'x'.repeat(500) } },
    { quoted: null, quotedWamid: 'wamid.gone' },
  ])
})
