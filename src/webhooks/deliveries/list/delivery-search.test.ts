import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../../test/database.ts'
import { createTwins } from '../../../../test/twins.ts'
import { EVENT } from '../../../../test/webhook-fixture.ts'
import { listDeliveries, readDeliveredMessages } from './delivery-list-store.ts'
import { findDeliveryIds } from './delivery-search-store.ts'

// The companies share all ids, with different contents.
const { db } = await createTestDatabase()
const DAY = Math.floor(Date.now() / 86_400_000)
const ID = DAY * 1_000_000_000 + 500_000_000
const STATUS = 'whatsapp.message.status'
const NAMES = ['Ada', 'Eve']
const PHONES = ['393331234567', '447700900123']

/** Creates a received message, its answer and an unrelated event; the second company has another customer. */
async function createDeliveries() {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[5, null, '']],
    customers: [[6, 5, null]],
    conversations: [[7, 6, 'open']],
  })
  for (const [index, id] of [companyId, twinId].entries()) {
    const [name = '', phone = ''] = [NAMES[index], PHONES[index]]
    await db`update contacts set first_name = ${name}, last_name = 'Test' where company_id = ${id}`
    await db`update customers set phone = ${phone} where company_id = ${id}`
    await db`
      insert into customer_identities (company_id, customer_id, identity, reported_at)
      values (${id}, 6, ${phone}, now())
    `
    await insertMessage(id, 11, 'wamid.In10000012', `${name} asks ${'x'.repeat(200)}`)
    await insertMessage(id, 12, 'wamid.Out', 'An answer')
    await insertDelivery(id, ID + 1, EVENT, 'wamid.In10000012', 11)
    await insertDelivery(id, ID + 2, STATUS, 'msg_12.read', 12)
    await insertDelivery(id, ID + 3, 'contact.changed', 'con_5.1', null)
  }
  return { companyId, twinId }
}

const insertMessage = (companyId: number, id: number, wamid: string, text: string) => db`
  insert into messages (company_id, id, conversation_id, seq, direction, type, text, status, wamid)
  overriding system value
  values (${companyId}, ${id}, 7, ${id}, 'inbound', 'text', ${text}, 'received', ${wamid})
`

async function insertDelivery(companyId: number, id: number, event: string, eventId: string, messageId: number | null) {
  await db`
    insert into envelopes (company_id, day, event_id, event, message_id, body, delivery_ids)
    values (${companyId}, ${DAY}, ${eventId}, ${event}, ${messageId}, '{}', ${[id]})
  `
  await db`
    insert into deliveries (company_id, id, day, registration_id, event, event_id, status)
    values (${companyId}, ${id}, ${DAY}, 1, ${event}, ${eventId}, 'dead')
  `
}

test('a row has the customer and the first words of the message that it is about, those of its own company', async () => {
  const { companyId, twinId } = await createDeliveries()
  for (const [index, id] of [companyId, twinId].entries()) {
    const rows = await listDeliveries(db, id, 1, { limit: 10 })
    const messages = await readDeliveredMessages(db, id, rows)
    const customer = {
      phone: PHONES[index],
      firstName: NAMES[index],
      lastName: 'Test',
      profileName: null,
      type: 'text',
    }
    expect([...messages].sort(([one], [other]) => one - other)).toEqual([
      [ID + 1, { ...customer, text: `${NAMES[index]} asks ${'x'.repeat(111)}` }],
      [ID + 2, { ...customer, text: 'An answer' }],
    ])
  }
})

test.each([
  ['a phone number in any formatting', '+39 333 123-4567', [1, 2]],
  ['the phone number of a customer of another company', '447700900123', []],
  ['the id of a delivery', String(ID + 3), [3]],
  ['the id of a message', 'wamid.In10000012', [1]],
  ['a part that could be the id of a delivery', '10000012', [1]],
  ['the id of another event', 'con_5.1', [3]],
  ['a part of the id of a message', 'mid.I', [1]],
  ['a part in digits', '5.1', [3]],
  ['a text that no id contains', 'Ada', []],
])('the search finds deliveries by %s', async (_, search, expected) => {
  const { companyId } = await createDeliveries()
  const ids = await findDeliveryIds(db, companyId, 1, search, { limit: 10 })
  const found = await listDeliveries(db, companyId, 1, { limit: 10, ids })
  expect(found.map(({ id }) => id - ID).sort()).toEqual(expected)
})

test('a search keeps to the status and the time of the filter', async () => {
  const { companyId } = await createDeliveries()
  const find = async (filter: object) => {
    const ids = await findDeliveryIds(db, companyId, 1, 'wamid', { limit: 10, ...filter })
    return (await listDeliveries(db, companyId, 1, { limit: 10, ids, ...filter })).length
  }
  expect(await find({ status: 'dead' })).toBe(1)
  expect(await find({ status: 'pending' })).toBe(0)
  expect(await find({ since: new Date(Date.now() + 3_600_000) })).toBe(0)
})
