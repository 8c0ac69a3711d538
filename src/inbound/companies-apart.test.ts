import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { record } from '../../test/world.ts'
import { findSecretsOf, findSendersByNumber } from './handling/route-items.ts'
import { listAwaitedSenders, storeDeadLetters } from './handling/unhandled/dead-letter-store.ts'
import { eraseItems, readItems } from './handling/unhandled/item-erasure-store.ts'
import { findLockedIds } from './ingest/admission.ts'

// Companies whose senders, contacts and conversations have the same ids.
const { db } = await createTestDatabase()
const AT = new Date('2026-01-03T00:00:00Z')
const [OLD, NEW, USER] = ['39333', '39444', 'IT.1']

/** Creates two companies with senders found by number id. */
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

test('the numbers of a locked company are those of its senders', async () => {
  const { companyId } = await createRoutes()
  await db`update companies set closed_at = now() where id = ${companyId}`
  const numbers = (await findLockedIds(db)).filter((id) => id.startsWith('PN'))
  expect(numbers).toEqual([numberOf(companyId)])
})

const named = { account: 'WABA', at: AT.getTime() }

/** Creates two companies where one number belongs to different customers with the same id. */
const createHolders = () =>
  createTwins(db, {
    contacts: [[1, OLD, OLD]],
    customers: [[1, 1, OLD]],
    identities: [[OLD, 1]],
    conversations: [[1, 1, 'open']],
  })

test('a customer changes the number, whatever another company knows of the customer', async () => {
  const { companyId, twinId, change } = await createHolders()
  await db`update customer_identities set reported_at = ${new Date(AT.getTime() + 1_000)} where company_id = ${twinId}`
  await db`
    insert into messages (company_id, conversation_id, seq, direction, type, status, wamid)
    values (${twinId}, 1, 1, 'inbound', 'system', 'received', 'system')
  `
  const state = await change((id) => {
    const report = { from: OLD, to: NEW, previousUserIds: [], userId: null, ...named }
    return record(db, [{ kind: 'number-change', companyId: id, wamid: 'system', change: report }], AT)
  })
  expect(companyId).not.toBe(twinId)
  expect(state).toMatchObject({ contacts: [[1, NEW, NEW]], customers: [[1, 1, NEW]] })
  expect(state.identities.toSorted()).toEqual([
    [OLD, 1, true],
    [NEW, 1, false],
  ])
})

test('a customer is attached to the contact that has the new number in its company', async () => {
  const { companyId, twinId } = await createHolders()
  for (const [id, contactId] of [[companyId, 2] as const, [twinId, 3] as const]) {
    await db`
      insert into contacts (company_id, id, phone, phone_identity, source, source_type)
      values (${id}, ${contactId}, ${NEW}, ${NEW}, 'test', 'test')
    `
  }
  const report = { from: OLD, to: NEW, previousUserIds: [], userId: null, ...named }
  const attach = (id: number) => record(db, [{ kind: 'number-change', companyId: id, wamid: null, change: report }], AT)
  await keepsRows(db, twinId, () => attach(companyId))
  await keepsRows(db, companyId, () => attach(twinId))
  const attached = await db`
    select contact_id from customers where company_id in (${companyId}, ${twinId}) order by company_id
  `
  expect(attached.map(({ contactId }) => contactId)).toEqual([2, 3])
})

test('a new user id leads to the customer of its company', async () => {
  const { change } = await createHolders()
  const report = { phone: OLD, previousUserIds: [], userId: USER, isMessage: false, ...named }
  const { identities, conversations } = await change((companyId) =>
    record(db, [{ kind: 'user-id-change', companyId, wamid: null, change: report }], AT),
  )
  expect([identities, conversations]).toEqual([
    [
      [OLD, 1, false],
      [USER, 1, false],
    ],
    [[1, 1, 'open', USER]],
  ])
})
