import { describe, expect, test } from 'vitest'
import { newPerson, type Shop, startPeople, UTILITY } from './people-world.ts'

// A customer whose contact was deleted belongs to the stored contact with a number of the customer from the write on.
const { service, createShop } = await startPeople()

async function createCustomer() {
  const shop = await createShop()
  const [ada, dialled] = [newPerson(), newPerson().phone]
  await service.control('POST', '/customers', { phoneNumberId: shop.phoneNumberId, phone: dialled, waId: ada.phone })
  await shop.send(dialled)
  await shop.report(shop.events.message(ada, 'Hello'))
  const [{ chatId, contact }] = await shop.inbox.list()
  return { shop, ada, dialled, chatId, contactId: contact.id as number }
}

async function createLeft() {
  const customer = await createCustomer()
  await customer.shop.api('DELETE', `/contacts/${customer.contactId}`)
  return customer
}

const contactIdOf = async ({ inbox }: Shop, chatId: number): Promise<number> =>
  (await inbox.list()).find((one) => one.chatId === chatId).contact.id

async function importRow(shop: Shop, phone: string): Promise<void> {
  const headers = { authorization: `Bearer ${shop.key.token}`, 'content-type': 'text/csv' }
  const taken = await service.call(service.url, 'POST', '/public/v1/contacts/import', `phone\n${phone}\n`, headers)
  const record = () => shop.api('GET', `/contacts/imports/${taken.body.data.id}`)
  await expect.poll(async () => (await record()).body.data.status, { timeout: 60_000 }).toBe('completed')
}

const WRITES: [string, (shop: Shop, phone: string) => Promise<unknown>][] = [
  ['create or update', (shop, phone) => shop.createContact({ phone })],
  ['an array', (shop, phone) => shop.createContact([{ phone }])],
  ['an imported list', importRow],
  ['a form', (shop, phone) => shop.createContact({ email: 'ada@example.org', phone })],
  [
    'PUT',
    async (shop, phone) => {
      const { id } = await shop.createContact({ email: 'ada@example.org' })
      await shop.api('PUT', `/contacts/${id}`, { phone })
    },
  ],
]

describe('a conversation shows the contact that was stored after the customer’s was deleted', () => {
  test.each(WRITES)('by %s with the number', async (_, write) => {
    const { shop, ada, chatId } = await createLeft()
    await write(shop, ada.phone)
    const [{ id }] = await shop.contacts()
    expect(await contactIdOf(shop, chatId)).toBe(id)
  })

  test.each(WRITES)('by %s with the dialled number, which the number then finds', async (_, write) => {
    const { shop, ada, dialled, chatId } = await createLeft()
    await write(shop, dialled)
    const [{ id }] = await shop.contacts()
    expect(await contactIdOf(shop, chatId)).toBe(id)
    expect((await shop.createContact({ phone: ada.phone, firstName: 'Ada' })).id).toBe(id)
    expect(await shop.contacts()).toHaveLength(1)
  })

  test('before: the stored one takes its place when the other is deleted', async () => {
    const { shop, ada, chatId, contactId } = await createCustomer()
    await shop.api('PUT', `/contacts/${contactId}`, { phone: newPerson().phone })
    const { id } = await shop.createContact({ email: 'ada@example.org', phone: ada.phone })
    expect(await contactIdOf(shop, chatId)).toBe(contactId)
    await shop.api('DELETE', `/contacts/${contactId}`)
    expect(await contactIdOf(shop, chatId)).toBe(id)
  })

  test('with what the customer has said', async () => {
    const { shop, ada, chatId } = await createLeft()
    await shop.report(shop.events.preference({ userId: ada.userId }, 'stop'))
    const { id } = await shop.createContact({ phone: ada.phone })
    expect(await shop.consentOf(id)).toMatchObject({ whatsapp: false })
    expect(await contactIdOf(shop, chatId)).toBe(id)
  })
})

/** As earlier versions left it: the stored contact has no customer yet. */
async function detach({ shop, contactId }: Awaited<ReturnType<typeof createLeft>>) {
  await service.db`update customers set contact_id = ${contactId} where company_id = ${shop.companyId}`
}

describe('an erasure', () => {
  const texts = async (shop: Shop, chatId: number) =>
    [...new Set((await shop.inbox.messages(chatId)).map(({ text }: { text: string }) => text))].sort()

  test.each([false, true])('of the stored contact erases the conversation (detached: %s)', async (isDetached) => {
    const left = await createLeft()
    const { shop, ada, chatId } = left
    const { id } = await shop.createContact({ phone: ada.phone })
    if (isDetached) await detach(left)
    expect((await shop.api('DELETE', `/contacts/${id}?erase=true`)).status).toBe(200)
    expect(await texts(shop, chatId)).toEqual(['[erased]'])
  })

  test.each([false, true])('of the deleted contact leaves it (detached: %s)', async (isDetached) => {
    const left = await createLeft()
    const { shop, ada, chatId, contactId } = left
    const { id } = await shop.createContact({ phone: ada.phone })
    if (isDetached) await detach(left)
    expect((await shop.api('DELETE', `/contacts/${contactId}?erase=true`)).status).toBe(200)
    expect(await texts(shop, chatId)).not.toContain('[erased]')
    expect(await contactIdOf(shop, chatId)).toBe(id)
  })
})

test('writes and sends of one person at once make one contact', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { shop, ada, dialled } = await createLeft()
    const events = [shop.events.message({ userId: ada.userId }, 'Hello'), shop.events.message(ada, 'Hello')]
    await Promise.all([
      shop.send(ada.userId, UTILITY),
      shop.send(dialled, UTILITY),
      shop.createContact({ phone: ada.phone }),
      ...events.map((event) => shop.report(event)),
    ])
    expect(await shop.contacts()).toHaveLength(1)
  }
})

test('a write finds the contact that a send creates meanwhile', async () => {
  const { shop, ada, dialled, contactId } = await createLeft()
  const isWaiting = async () =>
    (await service.db`select from pg_locks where relation = 'consents'::regclass and not granted limit 1`).length > 0
  let writing: Promise<unknown> = Promise.resolve()
  await service.db.begin(async (tx) => {
    // Holds the write between its two reads.
    await tx`lock table consents in access exclusive mode`
    writing = shop.createContact({ phone: ada.phone })
    await expect.poll(isWaiting).toBe(true)
    // As a send by user id does it, which locks the customer but not this number.
    const [contact] = await tx<[{ id: number }]>`
      insert into contacts (company_id, id, phone, phone_identity, search_text, source, source_type)
      select company_id, nextval('contacts_id_seq'), ${dialled}, ${dialled.replace('+', '')}, ${dialled}, source, source_type
      from contacts where (company_id, id) = (${shop.companyId}, ${contactId})
      returning id
    `
    await tx`update customers set contact_id = ${contact.id} where company_id = ${shop.companyId}`
  })
  await writing
  const stored = await service.db`
    select from contacts where company_id = ${shop.companyId} and deleted_at is null
  `
  expect(stored).toHaveLength(1)
})
