/**
 * Fills the demo company of a running `npm start` with data to look at: contacts, conversations, deliveries that succeed
 * and fail, and mails. Run it again for more of each.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const CUSTOMERS = 20
const CONTACTS = 200
const MAILS = 10
const NUMBER_ID = '100000000000001'
const FIRST_NAMES = ['Ada', 'Bruno', 'Chiara', 'Dmitri', 'Elif', 'Farah', 'Goran', 'Hana', 'Ines', 'Jonas']
const LAST_NAMES = ['Rossi', 'Silva', 'Novak', 'Schmidt', 'Dubois', 'Kaya', 'Haddad', 'Larsen', 'Costa', 'Weber']
const QUICK_REPLIES = [
  ['hours', 'We are open from Monday to Saturday, 9 to 18.'],
  ['returns', 'You can send it back within 30 days. The label is in the box.'],
  ['thanks', 'Thank you {{name}}!'],
]
const QUESTIONS = ['Is my order ready?', 'Can I change the size?', 'Where is your shop?', 'Thank you!']

const service = process.env.BASE_URL ?? 'http://127.0.0.1:3000'
const sandbox = process.env.SANDBOX_URL ?? 'http://127.0.0.1:3001'
const token = (await readFile(join(process.env.DATA_DIR ?? 'data', 'demo-token'), 'utf8')).trim()

// biome-ignore lint/suspicious/noExplicitAny: the answers of many calls
async function call(url: string, method: string, body?: unknown, headers: Record<string, string> = {}): Promise<any> {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`)
  return response.headers.get('content-type')?.includes('json') ? response.json() : undefined
}
const api = (path: string, body: unknown) =>
  call(`${service}/public/v1${path}`, 'POST', body, { authorization: `Bearer ${token}` })

/** A text goes only to a customer whose message has been handled. */
async function untilWritten(phone: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const address = `${service}/public/v1/whatsapp/conversations?search=${phone}`
  while ((await call(address, 'GET', undefined, headers)).data.length === 0) await sleep(100)
}

const nameOf = (place: number) => ({
  firstName: FIRST_NAMES[place % FIRST_NAMES.length] ?? 'Ada',
  lastName: LAST_NAMES[Math.floor(place / FIRST_NAMES.length) % LAST_NAMES.length] ?? 'Rossi',
})
const phoneOf = (place: number) => `39333${String(4_000_000 + place)}`

await api(
  '/contacts',
  Array.from({ length: CONTACTS }, (_, place) => ({
    ...nameOf(place),
    email: `customer${place}@example.com`,
    phone: `+${phoneOf(place)}`,
    marketingConsent: { email: place % 3 === 0, whatsapp: place % 2 === 0 },
  })),
)

await call(`${sandbox}/sandbox/receivers/failing/behaviour`, 'PUT', { statusCode: 500 })
for (const name of ['shop', 'failing']) {
  const url = `${sandbox}/sandbox/receivers/${name}`
  await api('/webhooks/registrations', {
    name,
    url,
    events: ['whatsapp.message.received'],
    secret: 'a-secret-for-the-seed',
  })
}

await call(
  `${sandbox}/sandbox/inbound/batch`,
  'POST',
  Array.from({ length: CUSTOMERS * QUESTIONS.length }, (_, place) => ({
    phoneNumberId: NUMBER_ID,
    from: phoneOf(place % CUSTOMERS),
    name: Object.values(nameOf(place % CUSTOMERS)).join(' '),
    type: 'text',
    text: { body: QUESTIONS[Math.floor(place / CUSTOMERS)] },
  })),
)

for (let place = 0; place < CUSTOMERS; place += 1) {
  const recipient = phoneOf(place)
  const components = [
    {
      type: 'BODY',
      parameters: [
        { type: 'text', text: nameOf(place).firstName },
        { type: 'text', text: `A-${10_400 + place}` },
      ],
    },
  ]
  const template = { name: 'order_update', languageCode: 'en_US', components }
  await api('/templates/whatsapp/send', { recipient, type: 'template', template })
}

/** A customer with a message of each kind, and an answer that is sent tomorrow. */
const kinds = { phoneNumberId: NUMBER_ID, from: phoneOf(CONTACTS), name: 'Every Kind' }
const item = { product_retailer_id: 'MUG-7', quantity: 2, item_price: 9.5, currency: 'EUR' }
const card = { name: { formatted_name: 'Mara Rossi', first_name: 'Mara' }, phones: [{ phone: '+39 333 1234567' }] }
for (const message of [
  { type: 'text', text: { body: 'Is *this one* _still_ there? https://example.com/mug `MUG-7`' } },
  { type: 'order', order: { catalog_id: '1', text: 'Before Friday, please', product_items: [item] } },
  { type: 'contacts', contacts: [card] },
  { type: 'location', location: { latitude: 45.4642, longitude: 9.19, name: 'Duomo', address: 'Piazza del Duomo' } },
  { type: 'image', image: { caption: 'This one' } },
  { type: 'sticker', sticker: {} },
]) {
  await call(`${sandbox}/sandbox/inbound`, 'POST', { ...kinds, ...message })
}
const { from: recipient } = kinds
const sendAt = new Date(Date.now() + 24 * 3_600_000).toISOString()
await untilWritten(recipient)
await api('/templates/whatsapp/send', { recipient, type: 'text', text: 'It arrives tomorrow', sendAt })
await api('/templates/whatsapp/send', { recipient, type: 'text', text: 'Your order is ready' })

const headers = { authorization: `Bearer ${token}` }
const { data: quickReplies } = await call(`${service}/public/v1/whatsapp/quick-replies`, 'GET', undefined, headers)
if (quickReplies.length === 0) {
  for (const [title, text] of QUICK_REPLIES) await api('/whatsapp/quick-replies', { title, text })
}

for (let place = 0; place < MAILS; place += 1) {
  const html = `<p>Hello ${nameOf(place).firstName}, <a href="https://example.com">your order</a> is ready.</p>`
  await api('/emails', { to: `customer${place}@example.com`, subject: 'Your order', html })
}

console.log(
  `${CONTACTS} contacts, ${CUSTOMERS + 1} conversations, one with a message of each kind, ` +
    `2 receivers (one fails) and ${MAILS} mails are in the demo company at ${service}`,
)
