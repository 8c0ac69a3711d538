import { readFileSync } from 'node:fs'
import { eventually, uniquePhone } from '../../service.ts'
import { startConsoleWorld, textOf } from '../world/console-world.ts'

const PICTURE = readFileSync(new URL('../../../docs/images/phone.png', import.meta.url))
const NAMES = [
  'Ada Lovelace',
  'Bruno Rossi',
  'Chiara Silva',
  'Dmitri Novak',
  'Elif Kaya',
  'Farah Haddad',
  'Jonas Weber',
]
const QUESTIONS = ['Is my order ready?', 'Can I change the size?', 'Where is your shop?', 'Thank you!']
const CONVERSATIONS = 30
const CONTACTS = 60
const COMPANIES = 12

const FIELDS = [
  { key: 'TIER', displayName: 'Loyalty tier', type: 'select', allowedValues: ['silver', 'gold'], category: 'Loyalty' },
  { key: 'POINTS', displayName: 'Points', type: 'number', category: 'Loyalty' },
  { key: 'BORN', displayName: 'Date of birth', type: 'date' },
  { key: 'VISIT', displayName: 'Last visit', type: 'datetime' },
  { key: 'MEMBER', displayName: 'Member', type: 'boolean' },
  { key: 'SIZES', displayName: 'Sizes', type: 'json' },
  { key: 'REMARK', displayName: 'A remark with a name that is longer than its column is wide', type: 'text' },
  { key: 'OLD_TIER', displayName: 'Old tier', type: 'text', category: 'Loyalty' },
]
const VALUES = {
  TIER: 'gold',
  POINTS: 1250,
  BORN: '1815-12-10',
  VISIT: '2026-02-20T10:15:00.000Z',
  MEMBER: true,
  SIZES: { shoe: 38, shirt: ['S', 'M'] },
  REMARK: 'https://example.com/a/very/long/address/without/any/place/where/a/line/could/break',
  OLD_TIER: 'bronze',
  SHOP: 'Milano',
}

type World = Awaited<ReturnType<typeof startConsoleWorld>>
type Company = World['company']

/** Companies without data, with one record of each kind and with many, for the states of each screen. */
export async function startStage() {
  const world = await startConsoleWorld()
  const { service } = world
  const [empty, one] = [await service.createCompany(), await service.createCompany()]
  const full = world.company
  const single = await fillOne(world, one)
  const many = await fillMany(world, full)
  for (let at = 0; at < COMPANIES; at++)
    await service.operator('POST', '/companies', { name: `Company ${at} of Italy` })
  const link = async (role: string) => {
    const body = { name: 'Mara', role }
    return service.codeOf((await service.operator('POST', `/companies/${full.companyId}/sign-in-links`, body)).body.url)
  }
  return { ...world, empty, one: { ...one, ...single }, full: { ...full, ...many }, link }
}

export type Stage = Awaited<ReturnType<typeof startStage>>

/** A customer whom only the profile names, and one record for each other screen. */
async function fillOne({ write, conversationOf, createReceiver, service }: World, company: Company) {
  const phone = uniquePhone()
  const receiver = await createReceiver('Shop', `one-${company.companyId}`, company)
  await write(phone, 'Is my order ready?', 'Marta Rossi', company.phoneNumberId)
  const chatId = await conversationOf(phone, company.api)
  const contact = (await company.api('GET', '/contacts')).body.data[0].id as number
  await company.api('POST', '/custom-fields', FIELDS[0])
  await importList(service, company, ['email', 'ada@example.com'])
  await untilDelivered(company, receiver.id, 1)
  return { chatId, contact, receiver: receiver.id }
}

async function fillMany(world: World, company: Company) {
  const { service, createReceiver } = world
  const fields = []
  for (const field of FIELDS) fields.push((await company.api('POST', '/custom-fields', field)).body.data)
  await company.api('PATCH', `/custom-fields/${fields.at(-1).id}`, { retired: true })
  const receiver = await createReceiver('Shop and its warehouse in Milano', `full-${company.companyId}`, company)
  await service.control('PUT', '/receivers/failing/behaviour', { statusCode: 500, body: 'Out of order' })
  await createReceiver('Failing', 'failing', company)
  await fillInbox(world, company)
  const kinds = await writeEachKind(world, company)
  await company.api(
    'POST',
    '/contacts',
    Array.from({ length: CONTACTS }, (_, at) => ({
      ...nameOf(at),
      email: `customer${at}@example.com`,
      tags: at % 3 === 0 ? ['vip', 'milano', 'newsletter'] : [],
      marketingConsent: { email: at % 3 === 0, whatsapp: at % 2 === 0 },
    })),
  )
  const ada = { phone: `+${kinds.phone}`, firstName: 'Ada', lastName: 'Lovelace', email: 'ada@example.com' }
  const contact = (
    await company.api('POST', '/contacts', {
      ...ada,
      tags: ['vip', 'milano'],
      customFields: VALUES,
      marketingConsent: { email: true, whatsapp: false },
    })
  ).body.data[0].id as number
  for (const subject of ['Your order', 'Your invoice']) {
    await company.api('POST', '/emails', {
      to: 'ada@example.com',
      subject,
      html: '<p>Hello</p>',
      from: 'shop@example.org',
    })
  }
  await importList(service, company, ['email,phone', 'not an address,', 'grace@example.com,+39 333 1234567'])
  const deliveries = await untilDelivered(company, receiver.id, CONVERSATIONS)
  return { receiver: receiver.id, delivery: deliveries[0].id as number, contact, chatId: kinds.chatId }
}

const nameOf = (at: number) => {
  const [firstName, lastName] = (NAMES[at % NAMES.length] ?? '').split(' ')
  return { firstName, lastName }
}

async function fillInbox({ service, conversationOf }: World, company: Company): Promise<void> {
  const phones = Array.from({ length: CONVERSATIONS }, uniquePhone)
  const messages = phones.flatMap((from, at) =>
    QUESTIONS.slice(0, (at % QUESTIONS.length) + 1).map((body) => ({
      ...{ phoneNumberId: company.phoneNumberId, from, name: NAMES[at % NAMES.length] },
      ...textOf(body),
    })),
  )
  await service.control('POST', '/inbound/batch', messages)
  for (const phone of phones.slice(0, 3)) {
    const chatId = await conversationOf(phone, company.api)
    await company.api('POST', `/whatsapp/conversations/${chatId}/messages`, { type: 'text', text: 'It is ready.' })
  }
}

/** A conversation with a message of each kind, an answer, and one that is sent tomorrow. */
async function writeEachKind({ service, conversationWith }: World, { api, phoneNumberId }: Company) {
  const headers = { authorization: 'Bearer token-of-the-number', 'content-type': 'image/png' }
  const address = `${service.sandbox.url}/v25.0/${phoneNumberId}/media`
  const uploaded = await fetch(address, { method: 'POST', headers, body: new Uint8Array(PICTURE) })
  const { id } = Object(await uploaded.json())
  const file = { id, mime_type: 'image/png', sha256: 'x' }
  const item = { product_retailer_id: 'MUG-7', quantity: 2, item_price: 9.5, currency: 'EUR' }
  const card = { name: { formatted_name: 'Mara Rossi', first_name: 'Mara' }, phones: [{ phone: '+39 333 1234567' }] }
  const { phone, chatId } = await conversationWith('Every Kind', [
    textOf('Is *this one* _still_ there? https://example.com/a/long/address/of/a/mug `MUG-7`'),
    textOf('كم ثمن هذا؟ 🙂 Grüße'),
    textOf('Averyverylongwordwithoutanyplacetobreak'.repeat(4)),
    { type: 'order', order: { catalog_id: '1', text: 'Before Friday, please', product_items: [item] } },
    { type: 'contacts', contacts: [card] },
    { type: 'location', location: { latitude: 45.4642, longitude: 9.19, name: 'Duomo', address: 'Piazza del Duomo' } },
    { type: 'sticker', sticker: {} },
    { ...textOf('Look what I found'), context: { forwarded: true } },
    {
      ...textOf('Do you still have it?'),
      referral: {
        source_type: 'ad',
        source_url: 'https://fb.me/1',
        headline: 'Mugs of the year',
        body: 'Until Sunday',
      },
    },
    { type: 'unsupported', errors: [{ code: 131051, title: 'Message type unknown' }] },
    { type: 'audio', audio: { ...file, mime_type: 'audio/ogg; codecs=opus', voice: true } },
    { type: 'document', document: { ...file, mime_type: 'application/pdf', filename: 'the invoice of november.pdf' } },
    { type: 'image', image: { ...file, caption: 'This one' } },
  ])
  const send = (body: object) => api('POST', `/whatsapp/conversations/${chatId}/messages`, { type: 'text', ...body })
  const { body } = await api('GET', `/whatsapp/conversations/${chatId}/messages`)
  await send({ text: 'Your order is ready', quoted: body.data[0].id })
  await send({ text: 'It arrives tomorrow', sendAt: new Date(Date.now() + 24 * 3_600_000).toISOString() })
  return { phone, chatId }
}

async function importList({ call, url }: World['service'], { key, api }: Company, lines: string[]): Promise<void> {
  const headers = { authorization: `Bearer ${key.token}`, 'content-type': 'text/csv' }
  await call(url, 'POST', '/public/v1/contacts/import', lines.join('\n'), headers)
  await eventually(async () => (await api('GET', '/contacts/imports')).body.data[0]?.status === 'completed')
}

const untilDelivered = ({ api }: Company, receiver: number, count: number) =>
  eventually(async () => {
    const { data } = (await api('GET', `/webhooks/registrations/${receiver}/deliveries?status=delivered&limit=100`))
      .body
    return data.length >= count && data
  })
