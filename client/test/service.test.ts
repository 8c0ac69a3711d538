import { beforeAll, describe, expect, test } from 'vitest'
import { startReceiver } from '../../test/receiver.ts'
import { eventually, startTestService, type TestService, uniquePhone } from '../../test/service.ts'
import { Parley, ParleyError } from '../src/index.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})

async function createShop() {
  const company = await service.createCompany()
  return { ...company, parley: new Parley({ baseUrl: `${service.url}/`, apiKey: company.key.token }) }
}
type Shop = Awaited<ReturnType<typeof createShop>>

const write = ({ phoneNumberId }: Shop, from: string, body: string) =>
  service.control('POST', '/inbound', { phoneNumberId, from, type: 'text', text: { body } })

/** The error that a call throws, narrowed as a user of the client narrows it. */
async function thrownBy(call: Promise<unknown>) {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof ParleyError) return error
  throw new Error(`No ParleyError: ${error}`)
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = []
  for await (const item of items) found.push(item)
  return found
}

describe('sending', () => {
  test('a text to a customer who wrote reaches the provider once', async () => {
    const shop = await createShop()
    const customer = uniquePhone()
    await write(shop, customer, 'Is it ready?')
    await eventually(async () => (await shop.parley.listConversations()).data.length === 1)
    const { data } = await shop.parley.sendWhatsAppMessage({ recipient: customer, type: 'text', text: 'It is.' })
    const texts = (await collect(shop.parley.allMessages({ chatId: data.chatId }))).map(({ text }) => text)
    expect(texts).toEqual(['It is.', 'Is it ready?'])
  })

  test('a message with sendAt is scheduled, listed and cancelled', async () => {
    const { parley } = await createShop()
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const recipient = uniquePhone()
    const template = { name: 'shipping_notice' }
    // The type of the answer follows from the body.
    const { data: first } = await parley.sendWhatsAppMessage({ recipient, type: 'template', template, sendAt })
    const { data: second } = await parley.sendWhatsAppMessage({ recipient, type: 'template', template, sendAt })
    expect(first).toMatchObject({ status: 'scheduled', sendAt, messageId: null })
    const listed = await collect(parley.allScheduledMessages({ limit: 1 }))
    expect(listed.map(({ id }) => id)).toEqual([second.id, first.id])
    await parley.cancelScheduledMessage({ id: first.id })
    expect(await thrownBy(parley.getScheduledMessage({ id: first.id }))).toMatchObject({ status: 404 })
  })

  test('a closed window is an error whose code narrows the details', async () => {
    const { parley } = await createShop()
    const error = await thrownBy(parley.sendWhatsAppMessage({ recipient: uniquePhone(), type: 'text', text: 'Hello' }))
    expect(error).toMatchObject({
      status: 422,
      code: 'session_window_closed',
      requestId: expect.stringMatching(/^req_/),
    })
    if (error.code !== 'session_window_closed') throw error
    expect(error.details.lastInboundAt).toBeNull()
    expect(error.details.remedy).toContain('template')
  })

  test('a send whose answer is lost is repeated with its key and takes effect once', async () => {
    const shop = await createShop()
    const customer = uniquePhone()
    await write(shop, customer, 'Hello')
    await eventually(async () => (await shop.parley.listConversations()).data.length === 1)
    let lost = 0
    const proxy = await startReceiver(async (request, response) => {
      const { body, headers } = proxy.received.at(-1)!
      const answer = await fetch(`${service.url}${request.url}`, {
        method: 'POST',
        headers: { ...pick(headers, 'authorization', 'content-type', 'idempotency-key') },
        body: new Uint8Array(body),
      })
      const text = await answer.text()
      if (lost++ === 0) return void request.socket.destroy()
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
    })
    const parley = new Parley({ baseUrl: proxy.url, apiKey: shop.key.token })
    const { data } = await parley.sendWhatsAppMessage({ recipient: customer, type: 'text', text: 'Once' })
    const messages = await collect(shop.parley.allMessages({ chatId: data.chatId }))
    expect(proxy.received).toHaveLength(2)
    expect(messages.filter(({ text }) => text === 'Once')).toHaveLength(1)
  })
})

describe('errors that carry only a text have the code of their status', () => {
  test('a wrong key', async () => {
    const parley = new Parley({ baseUrl: service.url, apiKey: 'PARLEY-0-0' })
    expect(await thrownBy(parley.listSenders())).toMatchObject({ status: 401, code: 'unauthorized' })
  })

  test('a missing record', async () => {
    const { parley } = await createShop()
    const error = await thrownBy(parley.getContact({ id: 999_999_999 }))
    expect(error).toMatchObject({ status: 404, code: 'not_found', message: 'Contact not found' })
  })
})

describe('lists are iterated to their end', () => {
  test('contacts, by cursors', async () => {
    const { parley } = await createShop()
    const emails = Array.from({ length: 7 }, (_, index) => `c${index}@example.com`)
    await parley.upsertContacts(emails.map((email) => ({ email })))
    const inOrder = await collect(parley.allContacts({ limit: 3, sort: 'email' }))
    expect(inOrder.map(({ email }) => email)).toEqual(emails)
    const reversed = await collect(parley.allContacts({ limit: 3, sort: '-email' }))
    expect(reversed.map(({ email }) => email)).toEqual(emails.toReversed())
    expect(await collect(parley.allContacts({ limit: 3 }))).toHaveLength(7)
  })

  test('contacts by their last change come once each while they change', async () => {
    const { parley } = await createShop()
    const emails = Array.from({ length: 7 }, (_, index) => `c${index}@example.com`)
    for (const email of emails) await parley.upsertContacts({ email })
    const seen: (string | null)[] = []
    for await (const { id, email } of parley.allContacts({ limit: 2, sort: 'updated_at' })) {
      seen.push(email)
      if (seen.length > emails.length) break
      await parley.updateContact({ id }, { firstName: `Ada ${seen.length}` })
    }
    expect(seen).toEqual(emails)
    expect(await collect(parley.allContacts({ limit: 2, sort: 'updated_at', search: 'none@example.com' }))).toEqual([])
  })

  test('conversations come once each while they become active', async () => {
    const shop = await createShop()
    for (let count = 0; count < 8; count += 1) await write(shop, uniquePhone(), 'Hello')
    await eventually(async () => (await shop.parley.listConversations()).data.length === 8)
    const seen: number[] = []
    for await (const { chatId, contact } of shop.parley.allConversations({ pageSize: 2 })) {
      seen.push(chatId)
      if (seen.length > 8) break
      await write(shop, contact.phone!, 'Again')
      await eventually(async () => (await shop.parley.listConversations({ pageSize: 1 })).data[0]?.chatId === chatId)
    }
    expect(seen).toHaveLength(8)
    expect(new Set(seen).size).toBe(8)
  })

  test('messages and conversations, by ids', async () => {
    const shop = await createShop()
    const customers = Array.from({ length: 3 }, uniquePhone)
    for (const customer of customers) for (const text of ['1', '2', '3']) await write(shop, customer, text)
    const conversations = await eventually(async () => {
      const found = await collect(shop.parley.allConversations({ pageSize: 2 }))
      const unread = found.reduce((sum, { unreadMessages }) => sum + unreadMessages, 0)
      return unread === 9 && found
    })
    expect(conversations).toHaveLength(3)
    const chatId = conversations[0]!.chatId
    expect(await collect(shop.parley.allMessages({ chatId, pageSize: 2 }))).toHaveLength(3)
  })

  test('senders, by the cursor', async () => {
    const { parley, companyId } = await createShop()
    await service.connectSender(companyId)
    await service.connectSender(companyId)
    expect(await collect(parley.allSenders({ pageSize: 2 }))).toHaveLength(3)
  })
})

describe('contacts', () => {
  test('are imported and exported as text', async () => {
    const { parley } = await createShop()
    const data = 'email,first_name\nada@example.com,Ada\n'
    const started = await parley.importContacts({ contentType: 'text/csv', data })
    await eventually(async () => (await parley.getImport({ id: started.data.id })).data.status === 'completed')
    expect((await collect(parley.allImports())).map(({ created }) => created)).toEqual([1])
    const exported = await parley.exportContacts({ format: 'csv' })
    expect(await exported.text()).toContain('ada@example.com')
  })

  test('are changed and deleted by id, and found by an email with a slash', async () => {
    const { parley } = await createShop()
    const email = 'a/b+c@example.com'
    const [contact] = (await parley.upsertContacts({ email })).data
    await parley.updateContact({ id: contact!.id }, { firstName: 'Ada' })
    expect((await parley.getContactByEmail({ email })).data.first_name).toBe('Ada')
    expect(await parley.deleteContact({ id: contact!.id, erase: true })).toEqual({ success: true })
  })
})

test('a registration is created, tested, and its attempts are listed', async () => {
  const { parley } = await createShop()
  const receiver = await startReceiver()
  const { id } = await parley.createRegistration({
    name: 'Desk',
    url: receiver.url,
    events: ['whatsapp.message.received'],
  })
  expect((await parley.testRegistration({ id })).data.statusCode).toBe(200)
  expect((await collect(parley.allDeliveryAttempts({ id, limit: 1 }))).length).toBeLessThanOrEqual(1)
  expect(await parley.removeRegistration({ id })).toEqual({ success: true })
})

function pick(headers: NodeJS.Dict<string | string[]>, ...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, String(headers[name])]))
}
