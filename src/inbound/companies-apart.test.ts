import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { listAwaitedSenders, storeDeadLetters } from './handling/dead-letter-store.ts'
import { eraseItems, readItems } from './handling/item-erasure-store.ts'
import { findSecretsOf, findSendersByNumber } from './handling/routing-store.ts'
import { findClosedIds } from './ingest/closed-number-store.ts'

// Companies whose senders, contacts and conversations have the same ids.
const { db } = await createTestDatabase()
const AT = new Date('2026-01-03T00:00:00Z')
const [OLD, NEW, USER] = ['39333', '39444', 'IT.1']

/** Two companies with a sender, to which events of a number id lead. */
async function createRoutes() {
  const twins = await createTwins(db)
  for (const id of [twins.companyId, twins.twinId]) {
    await db`insert into sender_routes (phone_number_id, company_id, sender_id) values (${numberOf(id)}, ${id}, 1)`
  }
  return twins
}

const numberOf = (companyId: number) => `PN${companyId}`

const unroutable = (companyId: number) => ({
  ...{
    state: 'unroutable' as const,
    reason: 'unknown number',
    phoneNumberId: numberOf(companyId),
    wabaAccountId: null,
  },
  ...{ app: null, body: Buffer.from(`{"from":"${OLD}"}`), receivedAt: AT, eventId: null },
})

test('an event leads to the sender of its number, with the secrets and the receivers of its company', async () => {
  const { companyId, twinId } = await createRoutes()
  await db`update senders set app_secret = 'of the other' where company_id = ${twinId}`
  await db`insert into registrations (company_id, name, url, events) values (${twinId}, 'R', 'https://a/', '{e}')`
  const senders = await findSendersByNumber(db, [numberOf(companyId)])
  expect(senders.map((sender) => [sender.companyId, sender.hasReceivers])).toEqual([[companyId, false]])
  expect(await findSecretsOf(db, [{ companyId, id: 1 }])).toEqual([
    { companyId, id: 1, appSecret: null, webhookSecret: null },
  ])
})

test('an item that waits for a number waits for no sender of another company', async () => {
  const { companyId } = await createRoutes()
  await storeDeadLetters(db, [unroutable(companyId)])
  expect((await listAwaitedSenders(db)).map((sender) => sender.companyId)).toEqual([companyId])
  await db`delete from inbound_items`
})

test('an erasure finds items that name a number of its company', async () => {
  const { companyId, twinId } = await createRoutes()
  await storeDeadLetters(db, [unroutable(companyId), unroutable(twinId)])
  expect((await readItems(db, companyId, [OLD], 0, 100)).rows).toHaveLength(1)
  await eraseItems(db, companyId, [OLD], 0, 100)
  expect([...(await db`select phone_number_id from inbound_items`)]).toEqual([{ phoneNumberId: numberOf(twinId) }])
  await db`delete from inbound_items`
})

test('the numbers of a closed company are those of its senders', async () => {
  const { companyId } = await createRoutes()
  await db`update companies set closed_at = now() where id = ${companyId}`
  const numbers = (await findClosedIds(db)).filter((id) => id.startsWith('PN'))
  expect(numbers).toEqual([numberOf(companyId)])
})

test('a customer changes the number, whatever another company knows of the customer', async () => {
  const { companyId, twinId, change } = await createTwins(db, {
    contacts: [[1, OLD, OLD]],
    conversations: [[1, OLD, 1, 'open']],
  })
  await db`insert into customer_user_ids values (${twinId}, ${OLD}, ${USER}, ${AT})`
  await db`
    insert into messages (company_id, conversation_id, seq, direction, type, status, wamid)
    values (${twinId}, 1, 1, 'inbound', 'system', 'received', 'system')
  `
  const sent = new Date(AT.getTime() - 1_000)
  const state = await change(
    () => db`select change_number(${companyId}, ${OLD}, ${NEW}, ${NEW}, 'system', ${sent}, ${AT})`,
  )
  expect(state).toMatchObject({ contacts: [[1, NEW, NEW]], conversations: [[1, NEW, 1, 'open']], userIds: [] })
})

test('a conversation goes on with the contact that has the new number in its company', async () => {
  const { change } = await createTwins(db, {
    contacts: [
      [1, OLD, OLD],
      [2, NEW, NEW],
    ],
    conversations: [[1, OLD, 1, 'open']],
  })
  const state = await change((companyId) => db`select move_customer(${companyId}, ${OLD}, ${NEW}, ${NEW}, ${AT})`)
  expect(state.conversations).toEqual([[1, NEW, 2, 'open']])
})

/** Two companies that know a number: each as that of a contact with another id. */
async function createHolders() {
  const { companyId, twinId } = await createTwins(db)
  for (const [id, contactId] of [[companyId, 1] as const, [twinId, 2] as const]) {
    await db`
      insert into contacts (company_id, id, phone, phone_identity, source, source_type)
      values (${id}, ${contactId}, ${OLD}, ${OLD}, 'test', 'test')
    `
  }
  return { companyId, twinId }
}

const aliasesOf = (companyId: number) => db`
  select identity, contact_id from contact_aliases where company_id = ${companyId}
`

test.each([
  ['a new user id', (companyId: number) => db`select change_user_id(${companyId}, ${OLD}, ${USER}, ${AT})`],
  [
    'the user id after the number',
    (companyId: number) => db`select release_phone(${companyId}, ${OLD}, ${USER}, ${AT})`,
  ],
])('%s leads to the contact of its company', async (_, change) => {
  const { companyId, twinId } = await createHolders()
  await keepsRows(db, twinId, () => change(companyId))
  await keepsRows(db, companyId, () => change(twinId))
  expect([...(await aliasesOf(companyId))]).toEqual([{ identity: USER, contactId: 1 }])
  expect([...(await aliasesOf(twinId))]).toEqual([{ identity: USER, contactId: 2 }])
})
