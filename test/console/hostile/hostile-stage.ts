import { expect } from 'vitest'
import { eventually, uniquePhone } from '../../service.ts'
import { startConsoleWorld, textOf } from '../world/console-world.ts'
import { HOSTILE_HTML, PAYLOADS } from './payloads.ts'

const CUSTOMER = '393331234567'
const BUSY = 'busy@example.com'

type World = Awaited<ReturnType<typeof startConsoleWorld>>

/** A company whose customers, receivers, mail server, templates and own users have stored payloads in every text. */
export async function startHostileStage() {
  const world = await startConsoleWorld()
  const { service, company } = world
  const { operator, control } = service
  const { companyId } = company
  await operator('PATCH', `/companies/${companyId}`, { name: payload(3) })
  for (const name of PAYLOADS) await created(operator('POST', '/companies', { name }))
  for (let at = 0; at < 10; at++) {
    const key = { name: payload(at * 17), permissions: ['WhatsApp'] }
    await created(operator('POST', `/companies/${companyId}/api-keys`, key))
    await service.signIn(await link(world, payload(at * 13)))
  }
  await control('POST', '/templates', {
    ...{ name: 'order_of_payloads', language: 'en_US', category: 'UTILITY', status: 'APPROVED' },
    components: [
      { type: 'HEADER', format: 'TEXT', text: payload(3) },
      { type: 'BODY', text: PAYLOADS.slice(0, 12).join(' ') },
      { type: 'FOOTER', text: payload(4) },
    ],
  })
  await operator('POST', `/companies/${companyId}/templates/sync`)
  const field = await fillContacts(world)
  const chats = await fillInbox(world)
  const mailed = await fillMails(world)
  const receiver = await fillReceivers(world)
  return { ...world, ...chats, ...receiver, contact: mailed, field, link: () => link(world, payload(0)) }
}

export type HostileStage = Awaited<ReturnType<typeof startHostileStage>>

const payload = (n: number): string => PAYLOADS[n % PAYLOADS.length] ?? ''

async function link({ service, company }: World, name: string): Promise<string> {
  const path = `/companies/${company.companyId}/sign-in-links`
  return service.codeOf((await created(service.operator('POST', path, { name, role: 'admin' }))).body.url)
}

async function created<T extends { status: number; text: string }>(answer: Promise<T>): Promise<T> {
  expect((await answer).status, (await answer).text).toBeLessThan(300)
  return answer
}

async function fillContacts({ service, company }: World): Promise<string> {
  const { api } = company
  const label = payload(3)
  const fields = [
    { key: 'REMARK', displayName: label, type: 'text', category: payload(8) },
    { key: 'TIER', displayName: payload(14), type: 'select', allowedValues: PAYLOADS.slice(0, 20) },
    { key: 'SIZES', displayName: payload(19), type: 'json' },
  ]
  for (const field of fields) await created(api('POST', '/custom-fields', field))
  const contacts = PAYLOADS.map((text, at) => ({
    email: `one${at}@example.com`,
    firstName: text,
    lastName: payload(at + 1),
    tags: [text.slice(0, 100)],
    customFields: { REMARK: text, SIZES: { [text.slice(0, 100)]: text } },
  }))
  const stored = await api('POST', '/contacts', contacts)
  expect(stored.status, stored.text).toBeLessThan(300)
  const list = [
    'email,first_name,custom_fields.REMARK',
    ...PAYLOADS.map((text) => [text, text, text].map(quoted).join()),
  ]
  const headers = { authorization: `Bearer ${company.key.token}`, 'content-type': 'text/csv' }
  await service.call(service.url, 'POST', '/public/v1/contacts/import', list.join('\n'), headers)
  await eventually(async () => (await api('GET', '/contacts/imports')).body.data[0]?.status === 'completed')
  for (let at = 0; at < 20; at++)
    await created(
      api('POST', '/whatsapp/quick-replies', { title: `${at} ${payload(at * 7)}`.slice(0, 60), text: payload(at * 7) }),
    )
  return label
}

export const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`

/** All payloads as texts and as names of customers, and one message of each kind. */
async function fillInbox({ service, company, conversationOf, conversationWith }: World) {
  const { phoneNumberId, api } = company
  const texts = PAYLOADS.map((text, at) => ({
    ...{ phoneNumberId, from: uniquePhone(), name: text },
    ...textOf(payload(at + 1)),
  }))
  const together = PAYLOADS.map((text) => ({ ...{ phoneNumberId, from: CUSTOMER, name: payload(3) }, ...textOf(text) }))
  await service.control('POST', '/inbound/batch', [...texts, ...together])
  const chatId = await conversationOf(CUSTOMER)
  await eventually(async () => {
    const { body } = await api('GET', `/whatsapp/conversations/${chatId}/messages?pageSize=100`)
    return body.data.length === 100
  })
  const kinds = await conversationWith(payload(23), kindsOf(payload))
  const send = (body: object) =>
    created(api('POST', `/whatsapp/conversations/${kinds.chatId}/messages`, { type: 'text', ...body }))
  await send({ text: payload(30), sendAt: new Date(Date.now() + 24 * 3_600_000).toISOString() })
  await send({ text: payload(31) })
  await api('PATCH', `/whatsapp/conversations/${kinds.chatId}`, { assignee: payload(40) })
  return { texts: chatId, kinds: kinds.chatId, contactOfKinds: kinds.phone }
}

const kindsOf = (text: (n: number) => string) => {
  const item = { product_retailer_id: text(0), quantity: 2, item_price: 9.5, currency: 'EUR' }
  const file = { id: '1', mime_type: text(5), sha256: 'x' }
  return [
    textOf(
      PAYLOADS.map((one) => `*${one}* _${one}_ \`${one}\` https://example.com/${one}`)
        .join('\n')
        .slice(0, 4_000),
    ),
    { type: 'order', order: { catalog_id: text(1), text: text(2), product_items: [item] } },
    {
      type: 'contacts',
      contacts: [
        {
          name: { formatted_name: text(3), first_name: text(4) },
          org: { company: text(5), title: text(6) },
          phones: [{ phone: text(7), type: text(8) }],
          emails: [{ email: text(9) }],
          urls: [{ url: 'javascript:ran(0)' }],
        },
      ],
    },
    {
      type: 'location',
      location: { latitude: 45.4, longitude: 9.1, name: text(10), address: text(11), url: text(150) },
    },
    {
      ...textOf(text(12)),
      referral: { source_type: text(13), source_url: 'javascript:ran(0)', headline: text(14), body: text(15) },
    },
    { type: 'unsupported', errors: [{ code: 131051, title: text(16), error_data: { details: text(17) } }] },
    { type: 'document', document: { ...file, filename: text(18), caption: text(19) } },
    { type: 'image', image: { ...file, caption: text(20) } },
    { type: 'button', button: { text: text(21), payload: text(22) } },
    {
      type: 'interactive',
      interactive: { type: 'list_reply', list_reply: { id: text(23), title: text(24), description: text(25) } },
    },
    { type: 'system', system: { body: text(26), type: text(27) } },
    { type: text(28).slice(0, 30), [text(28).slice(0, 30)]: { body: text(28) } },
  ]
}

/** Mails of all kinds to one contact, one refused; the contact has all that the pane shows. */
async function fillMails({ service, company }: World): Promise<number> {
  const { api, companyId } = company
  const mail = { to: BUSY, from: 'shop@example.org' }
  const { body } = await api('POST', '/contacts', {
    ...{
      email: BUSY,
      firstName: payload(1),
      lastName: payload(6),
      tags: PAYLOADS.slice(0, 20).map((one) => one.slice(0, 100)),
    },
    customFields: { REMARK: payload(13), TIER: payload(3), [payload(3)]: payload(4), SIZES: PAYLOADS.slice(0, 40) },
  })
  for (let at = 0; at < HOSTILE_HTML.length; at += 12) {
    const html = HOSTILE_HTML.slice(at, at + 12).join('')
    await created(api('POST', '/emails', { ...mail, subject: payload(at), html }))
  }
  await service.operator('PUT', `/companies/${companyId}/email-settings`, {
    from: 'shop@example.org',
    fromName: payload(3),
  })
  return body.data[0].id as number
}

async function fillReceivers({ service, company, createReceiver, write }: World) {
  await service.control('PUT', '/receivers/hostile/behaviour', { statusCode: 500, body: PAYLOADS.join('\n') })
  const { id } = await createReceiver(payload(3), `hostile?${encodeURIComponent(payload(4))}`)
  await write(uniquePhone(), payload(9), payload(3))
  const delivery = await eventually(async () => {
    const { body } = await company.api('GET', `/webhooks/registrations/${id}/deliveries?limit=100`)
    return body.data.find(({ attempts }: { attempts: number }) => attempts > 0)?.id as number | undefined
  })
  return { receiver: id, delivery }
}
