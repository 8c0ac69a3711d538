import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { countCustomer, createTwins, keepsRows } from '../../test/twins.ts'
import { NO_EVENTS } from '../changes/record-change.ts'
import type { Db } from '../db/connect.ts'
import { recordAnswers } from '../inbound/handling/batch/record-inbound.ts'
import { prepareSends } from './batch/send-batches.ts'
import { completeSends } from './batch/send-write-store.ts'
import type { Send } from './compose-message.ts'
import { findLastInbound, findMessageOf, findSentMessage } from './message-store.ts'

// Companies whose senders, contacts, conversations and messages have the same ids.
const { db } = await createTestDatabase()
const [CUSTOMER, ALIAS] = ['39333', '39444']
const AT = new Date('2026-01-03T00:00:00Z')
// Ids that tests give are lower.
for (const sequence of ['contacts_id_seq', 'customers_id_seq', 'conversations_id_seq', 'messages_id_seq'])
  await db`select setval(${sequence}::regclass, 1000)`

const createConversations = () =>
  createTwins(db, {
    contacts: [[1, CUSTOMER, CUSTOMER]],
    customers: [[1, 1, CUSTOMER]],
    identities: [[CUSTOMER, 1]],
    conversations: [[1, 1, 'open']],
  })

const send = (companyId: number, changes: Partial<Send> = {}): Send => ({
  companyId,
  senderId: 1,
  identity: CUSTOMER,
  phone: CUSTOMER,
  account: 'WABA',
  conversationId: null,
  contactSource: 'WhatsApp',
  sourceType: 'test',
  needsWindow: false,
  needsConsent: false,
  dailyLimit: null,
  limitScope: 'sender:1',
  slotSeconds: null,
  type: 'text',
  template: null,
  text: 'Hello',
  media: null,
  content: null,
  quotedWamid: null,
  senderName: 'Acme',
  key: null,
  scheduledId: null,
  ...changes,
})

const refusalsOf = async (...sends: Send[]) => (await prepareSends(db, sends, AT)).map(({ refusal }) => refusal)

async function insertMessage(companyId: number, status: string): Promise<void> {
  await db`
    insert into messages (company_id, id, conversation_id, seq, direction, type, status)
    overriding system value
    values (${companyId}, 1, 1, 1, 'outbound', 'text', ${status})
  `
}

/** Runs sends of a company while another transaction has locked rows of the other company. */
const whileLocked = (lock: (held: Db) => Promise<unknown>, run: () => Promise<unknown>) =>
  db.begin(async (held) => {
    await lock(held)
    await run()
  })

test('sends of two companies to the same customer write one message each', async () => {
  const { companyId, twinId } = await createConversations()
  const sends = [send(companyId), send(companyId, { text: 'More' }), send(twinId)]
  expect(await refusalsOf(...sends)).toEqual([null, null, null])
  const messages = await db`
    select company_id, seq, text from messages where company_id in (${companyId}, ${twinId}) order by company_id, seq
  `
  expect([...messages]).toEqual([
    { companyId, seq: 1, text: 'Hello' },
    { companyId, seq: 2, text: 'More' },
    { companyId: twinId, seq: 1, text: 'Hello' },
  ])
})

test('an identity of a customer leads to a conversation in its company', async () => {
  const { companyId, twinId } = await createConversations()
  await db`
    insert into customer_identities (company_id, customer_id, identity, reported_at) values (${companyId}, 1, ${ALIAS}, ${AT})
  `
  const sends = [companyId, twinId].map((id) => send(id, { identity: ALIAS, phone: ALIAS }))
  expect(await refusalsOf(...sends)).toEqual([null, null])
  const count = async (id: number) => (await db`select from conversations where company_id = ${id}`).length
  expect([await count(companyId), await count(twinId)]).toEqual([1, 2])
})

test('the window of a customer is open in the company to which the customer has written', async () => {
  const { companyId, twinId } = await createTwins(db)
  await prepareSends(db, [send(companyId)], AT)
  await db`update conversations set last_inbound_at = ${AT} where company_id = ${companyId}`
  const sends = [companyId, twinId].map((id) => send(id, { needsWindow: true }))
  expect(await refusalsOf(...sends)).toEqual([null, 'window'])
})

test('the daily limit of a sender refuses no send of another company', async () => {
  const { companyId, twinId } = await createConversations()
  await prepareSends(db, [send(companyId, { identity: ALIAS, phone: ALIAS, dailyLimit: 1 })], AT)
  const sends = [companyId, twinId].map((id) => send(id, { dailyLimit: 1 }))
  expect(await refusalsOf(...sends)).toEqual(['limit', null])
})

const keyed = (companyId: number) => {
  const request = { companyId, clientId: 'client', method: 'POST', path: '/send' }
  return send(companyId, { key: { ...request, key: 'key', digest: Buffer.alloc(0) }, dailyLimit: 10 })
}

test('a send reserves the Idempotency-Key of its company', async () => {
  const { companyId, twinId } = await createConversations()
  expect(await refusalsOf(keyed(twinId))).toEqual([null])
  expect(await refusalsOf(keyed(companyId), keyed(twinId))).toEqual([null, 'key'])
})

async function insertScheduled(companyId: number): Promise<void> {
  await db`
    insert into scheduled_messages (
      company_id, id, sender_id, is_reply, recipient, identity, type, body, sender_name, send_at
    )
    overriding system value
    values (${companyId}, 1, 1, false, ${CUSTOMER}, ${CUSTOMER}, 'text', '{}', 'Acme', ${AT})
  `
}

const statusOf = async (companyId: number) => {
  const [row] = await db<{ status: string }[]>`select status from scheduled_messages where company_id = ${companyId}`
  return row?.status
}

test('a scheduled message is sent and waits again in its company, and only once', async () => {
  const { companyId, twinId } = await createConversations()
  await insertScheduled(twinId)
  const scheduled = (id: number) => send(id, { scheduledId: 1 })
  expect(await refusalsOf(scheduled(companyId))).toEqual(['key'])
  await insertScheduled(companyId)
  await whileLocked(
    (held) => held`select from scheduled_messages where company_id = ${twinId} for update`,
    async () => expect(await refusalsOf(scheduled(companyId))).toEqual([null]),
  )
  expect(await refusalsOf(scheduled(companyId))).toEqual(['key'])
  expect([await statusOf(companyId), await statusOf(twinId)]).toEqual(['sent', 'scheduled'])
  expect(await refusalsOf(scheduled(twinId))).toEqual([null])
  await db`update scheduled_messages set message_id = 5 where company_id in (${companyId}, ${twinId})`
  const nothing = { wamid: null, providerMessageId: null, recipient: null, error: null, reaction: null }
  const ended = { ...nothing, isLimited: false, hasProviderMedia: false, idempotencyId: null, answer: null }
  await db.begin((tx) =>
    completeSends(tx, [{ companyId, messageId: 5, status: 'failed', ...ended, scheduledId: 1 }], AT),
  )
  expect([await statusOf(companyId), await statusOf(twinId)]).toEqual(['scheduled', 'sent'])
})

test('a send waits for no Idempotency-Key and no limit of another company', async () => {
  const { companyId, twinId } = await createConversations()
  expect(await refusalsOf(keyed(twinId))).toEqual([null])
  await whileLocked(
    async (held) => {
      await held`select from idempotency_keys where company_id = ${twinId} for update`
      await held`select from sender_limits where company_id = ${twinId} for update`
    },
    async () => {
      expect(await refusalsOf(keyed(companyId))).toEqual([null])
    },
  )
})

const insertKey = (companyId: number) => db`
  insert into idempotency_keys (company_id, id, client_id, method, path, key, digest, lease_until)
  overriding system value
  values (${companyId}, 1, 'client', 'POST', '/send', 'key', '', now() + interval '1 minute')
`

test('the number that the provider names leads to the customer, though another company has a customer of it', async () => {
  const { companyId, twinId } = await createConversations()
  await prepareSends(db, [send(twinId, { identity: ALIAS, phone: ALIAS })], AT)
  const answer = {
    companyId,
    requestedIdentity: CUSTOMER,
    phone: ALIAS,
    userId: null,
    account: 'WABA',
    at: AT.getTime(),
  }
  await keepsRows(db, twinId, () => recordAnswers({ db, recordEvents: NO_EVENTS }, [answer], 'test', AT))
  const identities =
    await db`select identity, customer_id from customer_identities where company_id = ${companyId} order by 1`
  expect([...identities]).toEqual([
    { identity: CUSTOMER, customerId: 1 },
    { identity: ALIAS, customerId: 1 },
  ])
})

test('a completed send changes the message, the unread messages and the daily limit of its company alone', async () => {
  const { companyId, twinId } = await createConversations()
  for (const id of [companyId, twinId]) {
    await insertMessage(id, 'pending')
    await countCustomer(db, id, 1)
    await db`update conversations set unread_messages = 1 where company_id = ${id}`
    await insertKey(id)
    await db`update idempotency_keys set message_id = 1 where company_id = ${id}`
  }
  const ended = {
    companyId,
    messageId: 1,
    wamid: 'w',
    providerMessageId: null,
    recipient: null,
    error: null,
    isLimited: true,
  }
  const more = { ...ended, reaction: null, hasProviderMedia: false, idempotencyId: 1, scheduledId: null, answer: null }
  await keepsRows(db, twinId, () =>
    db.begin(async (tx) => {
      await completeSends(tx, [{ ...more, status: 'sent' }], AT)
      await completeSends(tx, [{ ...more, status: 'failed' }], AT)
    }),
  )
  const [row] = await db`
    select
      (select unread_messages from conversations where company_id = ${companyId}) as unread,
      (select used from daily_limits where company_id = ${companyId}) as used,
      (select count(*)::integer from idempotency_keys where company_id = ${companyId}) as keys
  `
  expect(row).toEqual({ unread: 0, used: 0, keys: 0 })
})

test('a repeated request finds the message of its company', async () => {
  const { companyId, twinId } = await createConversations()
  await insertMessage(companyId, 'sent')
  await insertMessage(twinId, 'failed')
  const statuses = [await findSentMessage(db, companyId, 1), await findSentMessage(db, twinId, 1)]
  expect(statuses.map((message) => message?.status)).toEqual(['sent', 'failed'])
})

test('a send names a message of its company, and a receipt the last one of the customer', async () => {
  const { companyId, twinId } = await createConversations()
  for (const [id, wamid] of [[companyId, 'w1'] as const, [twinId, 'w2'] as const]) {
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status, wamid)
      overriding system value
      values (${id}, 1, 1, 1, 'inbound', 'text', 'received', ${wamid})
    `
  }
  const named = [await findMessageOf(db, companyId, 1, CUSTOMER, 1), await findMessageOf(db, twinId, 1, CUSTOMER, 1)]
  expect(named).toEqual([{ wamid: 'w1' }, { wamid: 'w2' }])
  expect(await findMessageOf(db, companyId, 2, CUSTOMER, 1)).toBeUndefined()
  expect(await findMessageOf(db, companyId, 1, ALIAS, 1)).toBeUndefined()
  const last = [await findLastInbound(db, companyId, 1, 1), await findLastInbound(db, twinId, 1, 1)]
  expect(last).toEqual(['w1', 'w2'])
  await db`update messages set wamid = 'erased:1' where company_id = ${companyId}`
  expect(await findLastInbound(db, companyId, 1, 1)).toBeUndefined()
})

test('an accepted reaction is shown in its company, once', async () => {
  const { companyId, twinId } = await createConversations()
  for (const id of [companyId, twinId]) await insertMessage(id, 'pending')
  const reacted = {
    ...{ companyId, messageId: 1, status: 'sent' as const, wamid: 'w', providerMessageId: null, recipient: null },
    ...{ error: null, isLimited: false, hasProviderMedia: false, idempotencyId: null, scheduledId: null, answer: null },
    reaction: { targetId: 7, targetWamid: 'w7', emoji: '👍' },
  }
  await keepsRows(db, twinId, async () => {
    for (const _ of [1, 2]) await db.begin((tx) => completeSends(tx, [reacted], AT))
  })
  const rows = await db`select target_wamid, emoji from message_reactions where company_id = ${companyId}`
  expect([...rows]).toEqual([{ targetWamid: 'w7', emoji: '👍' }])
})
