import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { ALL } from '../../test/lifetimes.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { statusRecord } from '../../test/world.ts'
import {
  findConversation,
  findPlace,
  hasWrittenSince,
  listConversationIdsOf,
  listMessagesByIds,
} from './conversation-store.ts'
import { selectByProfile } from './list/profile-search-store.ts'
import { findEarlierMessages, listCompaniesWithEarlier } from './message-expiry-store.ts'
import { writeConversations } from './recording/conversation-write-store.ts'
import { findKnownWamids } from './recording/inbound-store.ts'
import { findTargets } from './recording/message-change-store.ts'
import { findUnknownRecipients } from './recording/recipient-store.ts'
import { recordSentReactions } from './recording/sent-reaction-store.ts'
import { recordStatuses } from './recording/status-store.ts'
import {
  lockDueStatuses,
  type StatusRecord,
  settleWaitingStatuses,
  takeWaitingStatuses,
} from './recording/waiting-status-store.ts'
import { markRead } from './unread-store.ts'

const { db } = await createTestDatabase()
const AT = new Date('2026-01-03T00:00:00Z')
const WAMID = 'wamid.1'

/** Two companies that have each a message with the same ids, and a copy of its media under a name of its own. */
async function createMessages({ twinMessageId = 1 } = {}) {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, '39333', '39333']],
    customers: [[1, 1, '39333']],
    identities: [['39333', 1]],
    conversations: [[1, 1, 'open']],
  })
  for (const [id, messageId] of [[companyId, 1] as const, [twinId, twinMessageId] as const]) {
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status, wamid, provider_message_id)
      overriding system value
      values (${id}, ${messageId}, 1, 1, 'outbound', 'text', 'sent', ${WAMID}, ${WAMID})
    `
    await db`
      insert into media (company_id, message_id, sender_id, provider_media_id, storage_key)
      values (${id}, ${messageId}, 1, 'media', ${`copy of ${id}`})
    `
  }
  return { companyId, twinId }
}

const statusOf = (companyId: number, status: StatusRecord['status']): StatusRecord =>
  statusRecord({ companyId, senderId: 1, wamid: WAMID, status, occurredAt: AT })

const statusesOf = async (...companies: number[]) => {
  const rows = await db<{ companyId: number; status: string }[]>`
    select company_id, status from messages where company_id = any(${companies}::bigint[])
  `
  return companies.map((id) => rows.find(({ companyId }) => companyId === id)?.status)
}

/** Another sender of a company, with the id 2. */
const addSender = (companyId: number) => db`
  insert into senders (
    company_id, id, provider, phone_number, phone, phone_name, phone_number_id, waba_account_id, access_token
  )
  overriding system value
  values (${companyId}, 2, 'meta', '+2', '2', 'Acme', ${`PN2${companyId}`}, 'WABA', 'secret')
`

test('statuses that come together change each the message of its own company', async () => {
  const { companyId, twinId } = await createMessages()
  const changed = await recordStatuses(db, [statusOf(companyId, 'read'), statusOf(twinId, 'delivered')], AT)
  expect(await statusesOf(companyId, twinId)).toEqual(['read', 'delivered'])
  expect(changed.moved.map((row) => row.companyId).toSorted()).toEqual([companyId, twinId].toSorted())
  const events = await db`
    select company_id, status from message_status_events where company_id in (${companyId}, ${twinId}) order by 1
  `
  expect(events.map((event) => [event.companyId, event.status])).toEqual(
    [
      [companyId, 'read'],
      [twinId, 'delivered'],
    ].toSorted(),
  )
})

test('a status changes no message of another company that has the same wamid', async () => {
  const { companyId, twinId } = await createMessages()
  await recordStatuses(db, [statusOf(companyId, 'read')], AT)
  expect(await statusesOf(companyId, twinId)).toEqual(['read', 'sent'])
})

test('a status moves a message forward from where it is in its company', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update messages set status = 'read' where company_id = ${twinId}`
  await recordStatuses(db, [statusOf(companyId, 'delivered'), statusOf(twinId, 'delivered')], AT)
  expect(await statusesOf(companyId, twinId)).toEqual(['delivered', 'read'])
})

test('a status waits, although another company has a message with its ids', async () => {
  const { companyId, twinId } = await createMessages()
  await db`delete from media where company_id = ${companyId}`
  await db`delete from messages where company_id = ${companyId}`
  const names = [
    { wamid: WAMID, providerMessageId: 'new' },
    { wamid: null, providerMessageId: WAMID },
  ]
  const records = (id: number) => names.map((name) => ({ ...statusOf(id, 'read'), ...name }))
  await recordStatuses(db, [...records(companyId), ...records(twinId)], AT)
  const waiting = await db`select company_id from waiting_statuses where company_id in (${companyId}, ${twinId})`
  expect(waiting.map((row) => row.companyId)).toEqual([companyId, companyId])
})

test('a change names the message of its company', async () => {
  const { companyId } = await createMessages()
  expect(await findTargets(db, [{ companyId, targetWamid: WAMID }])).toMatchObject([
    { companyId, id: 1, conversationId: 1 },
  ])
})

test('messages that expire are those of each company', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update messages set created_at = now() - interval '400 days' where company_id = ${companyId}`
  expect(await listCompaniesWithEarlier(db, 365, 100)).toEqual([companyId])
  expect(await findEarlierMessages(db, companyId, 365, ALL)).toEqual([1])
  expect(await findEarlierMessages(db, twinId, 365, ALL)).toEqual([])
})

test('a page starts before its message, of which another company has one with that id', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update messages set seq = 7 where company_id = ${twinId}`
  const conversation = { id: 1, messageCount: 7, expiredCount: 0, createdAt: new Date(0) }
  for (const [id, seq] of [
    [companyId, 1],
    [twinId, 7],
  ] as const)
    expect([await findPlace(db, id, conversation, 1), await findPlace(db, id, conversation, 2)]).toEqual([seq, seq])
})

test('messages and conversations with some ids are those of the company', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update messages set text = 'other' where company_id = ${twinId}`
  expect((await listMessagesByIds(db, companyId, [1])).map(({ text }) => text)).toEqual([null])
  expect((await listMessagesByIds(db, twinId, [1])).map(({ text }) => text)).toEqual(['other'])
  expect(await listConversationIdsOf(db, companyId, [1], 10)).toEqual([1])
})

test('a message shows the reaction to it in its company', async () => {
  const { companyId, twinId } = await createMessages()
  for (const [id, emoji] of [[companyId, 'A'] as const, [twinId, 'B'] as const]) {
    await db`
      insert into message_reactions (company_id, wamid, target_wamid, emoji, occurred_at)
      values (${id}, 'reaction', ${WAMID}, ${emoji}, ${AT})
    `
  }
  const shown = async (id: number) => (await listMessagesByIds(db, id, [1])).map(({ reaction }) => reaction)
  expect([await shown(companyId), await shown(twinId)]).toEqual([['A'], ['B']])
})

test('profile names are found in the company, among the conversations that are looked at', async () => {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [
      [1, '39333', '39333'],
      [2, '39444', '39444'],
    ],
    customers: [
      [1, 1, '39333'],
      [2, 2, '39444'],
    ],
    identities: [],
    conversations: [
      [1, 1, 'open'],
      [2, 2, 'open'],
    ],
  })
  await db`update conversations set profile_search = 'anna adams' where company_id = ${companyId}`
  await db`update conversations set profile_search = 'ada' where company_id = ${twinId}`
  const found = async (id: number, text: string, limit: number) => {
    const { matches, areAll } = await selectByProfile(db, id, text, ['ada'], limit)
    return { ids: matches.map(({ id: one }) => one).toSorted(), areAll }
  }
  expect(await found(companyId, 'adams', 3)).toEqual({ ids: [1, 2], areAll: true })
  expect(await found(twinId, 'adams', 3)).toEqual({ ids: [], areAll: true })
  expect(await found(companyId, 'adams', 1)).toEqual({ ids: [expect.any(Number)], areAll: false })
  expect(await found(companyId, 'adamson', 1)).toEqual({ ids: [], areAll: false })
})

test('a message names the message that it answers in its company', async () => {
  const { companyId, twinId } = await createMessages({ twinMessageId: 2 })
  for (const id of [companyId, twinId]) await db`update messages set quoted_wamid = wamid where company_id = ${id}`
  const quotedBy = async (company: number, id: number) =>
    (await listMessagesByIds(db, company, [id])).map(({ quoted }) => quoted?.id)
  expect([await quotedBy(companyId, 1), await quotedBy(twinId, 2)]).toEqual([[1], [2]])
})

test('messages of a customer are marked as read in the company, up to one of them', async () => {
  const { companyId, twinId } = await createMessages()
  for (const id of [companyId, twinId]) {
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status)
      overriding system value
      values (${id}, 3, 1, 2, 'inbound', 'text', 'received'), (${id}, 4, 1, 3, 'inbound', 'text', 'received')
    `
    await db`update conversations set unread_messages = 2 where company_id = ${id}`
    await db`update conversation_activity set is_unread = true where company_id = ${id}`
  }
  const unread = async () => {
    const [row] = await db`
      select unread_messages, is_unread
      from conversations
      join conversation_activity activity on (activity.company_id, activity.conversation_id) = (${companyId}, id)
      where conversations.company_id = ${companyId}
    `
    return row
  }
  await keepsRows(db, twinId, () => markRead(db, companyId, 1, 2))
  expect(await unread()).toEqual({ unreadMessages: 1, isUnread: true })
  await keepsRows(db, twinId, () => markRead(db, companyId, 1, 3))
  expect(await unread()).toEqual({ unreadMessages: 0, isUnread: false })
})

test('a reaction that fails is removed in its company', async () => {
  const { companyId, twinId } = await createMessages()
  const reaction = { messageId: 1, targetWamid: 'w7', emoji: 'A' }
  await recordSentReactions(
    db,
    [companyId, twinId].map((id) => ({ ...reaction, companyId: id })),
    AT,
  )
  await keepsRows(db, twinId, () => recordStatuses(db, [statusOf(companyId, 'failed')], AT))
  expect(await db`select from message_reactions where company_id = ${companyId}`).toHaveLength(0)
})

test('a message of a customer to another company is none to this one', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update conversations set last_inbound_at = ${AT} where company_id = ${twinId}`
  expect([await hasWrittenSince(db, companyId, '39333', AT), await hasWrittenSince(db, twinId, '39333', AT)]).toEqual([
    false,
    true,
  ])
})

test('a conversation shows the number and the user id of its own customer', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update customers set phone = '39555' where company_id = ${twinId}`
  await db`update conversations set user_id = 'IT.1' where company_id = ${twinId}`
  const shown = [await findConversation(db, companyId, 1), await findConversation(db, twinId, 1)]
  expect(shown.map((conversation) => [conversation?.phone, conversation?.userId])).toEqual([
    ['39333', null],
    ['39555', 'IT.1'],
  ])
})

test('a conversation is that of a group if its own customer is one', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update customers set phone = null where company_id in (${companyId}, ${twinId})`
  await db`update customer_identities set identity = '#group' where company_id = ${twinId}`
  const shown = [await findConversation(db, companyId, 1), await findConversation(db, twinId, 1)]
  expect(shown.map((conversation) => conversation?.groupId)).toEqual([null, 'group'])
})

test('a status that names a message by our id changes no message of another company', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update messages set wamid = null where company_id in (${companyId}, ${twinId})`
  await keepsRows(db, twinId, () => recordStatuses(db, [{ ...statusOf(companyId, 'read'), messageId: 1 }], AT))
  expect(await statusesOf(companyId)).toEqual(['read'])
})

test('a status that names a message by our id comes from the number of its conversation', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update messages set wamid = null where company_id in (${companyId}, ${twinId})`
  await addSender(companyId)
  await db`update conversations set sender_id = 2 where company_id = ${companyId}`
  await recordStatuses(db, [{ ...statusOf(companyId, 'read'), messageId: 1 }], AT)
  expect(await statusesOf(companyId)).toEqual(['sent'])
})

test('a status that names a message by the provider’s id changes no message of another company', async () => {
  const { companyId, twinId } = await createMessages()
  const status = { ...statusOf(companyId, 'read'), wamid: null, providerMessageId: WAMID }
  await keepsRows(db, twinId, () => recordStatuses(db, [status], AT))
  expect(await statusesOf(companyId)).toEqual(['read'])
})

test('a status waits for no lock on a message of another company', async () => {
  const { companyId, twinId } = await createMessages()
  await db.begin(async (held) => {
    await held`select from messages where company_id = ${twinId} for update`
    await db.begin(async (tx) => {
      await tx`set local lock_timeout = '1s'`
      await recordStatuses(tx, [statusOf(companyId, 'read')], AT)
    })
  })
  expect(await statusesOf(companyId)).toEqual(['read'])
})

test('waiting statuses are settled, and taken, in their company', async () => {
  const { companyId, twinId } = await createMessages()
  for (const id of [companyId, twinId]) {
    await db`
      insert into waiting_statuses (company_id, id, provider_message_id, wamid, status)
      overriding system value
      values (${id}, 1, 'new', 'new', 'read'), (${id}, 2, 'other', 'other', 'read')
    `
  }
  await keepsRows(db, twinId, async () => {
    const due = (await lockDueStatuses(db, 500)).filter((one) => one.companyId === companyId)
    await settleWaitingStatuses(db, due, ({ waitingId }) => waitingId === 2)
  })
  const taken = await keepsRows(db, twinId, () => takeWaitingStatuses(db, [{ companyId, wamid: 'new' }]))
  expect(taken.map((status) => status.companyId)).toEqual([companyId])
})

test('messages expire, though another company has a newer one with a lower id', async () => {
  const { companyId, twinId } = await createMessages({ twinMessageId: 2 })
  await db`update messages set created_at = now() - interval '400 days' where company_id = ${twinId}`
  const companies = (await listCompaniesWithEarlier(db, 365, 100)).filter((id) => [companyId, twinId].includes(id))
  expect(companies).toEqual([twinId])
  expect(await findEarlierMessages(db, twinId, 365, ALL)).toEqual([2])
})

/** A change of the message of a company; by the business, unless writers are given. */
const insertChange = (companyId: number, { senderId = 1, writers = [] as string[] } = {}) => db`
  insert into message_changes (company_id, wamid, sender_id, direction, writers, target_wamid, kind, occurred_at)
  values (
    ${companyId}, 'c', ${senderId}, ${writers.length > 0 ? 'inbound' : 'outbound'}, ${writers}, ${WAMID}, 'revoke', ${AT}
  )
`

const applyChanges = (companyId: number) =>
  db`select apply_message_changes(array[row(${companyId}, ${WAMID})::message_key], ${AT})`

const isRevoked = async (companyId: number) =>
  (await db`select from messages where company_id = ${companyId} and revoked_at is not null`).count === 1

test('a revoke changes message, media and conversation of its company', async () => {
  const { companyId, twinId } = await createMessages()
  await db`
    update conversations set message_count = 1, last_text = 'Hello' where company_id in (${companyId}, ${twinId})
  `
  await insertChange(companyId)
  await keepsRows(db, companyId, () => applyChanges(twinId))
  await keepsRows(db, twinId, () => applyChanges(companyId))
  expect([await isRevoked(companyId), await isRevoked(twinId)]).toEqual([true, false])
})

test('a revoke comes from the number of the conversation of its company', async () => {
  const { companyId, twinId } = await createMessages()
  await addSender(twinId)
  await db`update conversations set sender_id = 2 where company_id = ${twinId}`
  await insertChange(companyId)
  await insertChange(twinId, { senderId: 2 })
  for (const id of [companyId, twinId]) await applyChanges(id)
  expect([await isRevoked(companyId), await isRevoked(twinId)]).toEqual([true, true])
})

test('a customer under another number revokes messages in the company that knows the number', async () => {
  const { companyId, twinId } = await createMessages()
  await db`
    insert into customer_identities (company_id, customer_id, identity, reported_at) values (${twinId}, 1, '39555', ${AT})
  `
  for (const id of [companyId, twinId]) {
    await db`update messages set direction = 'inbound' where company_id = ${id}`
    await insertChange(id, { writers: ['39555'] })
    await applyChanges(id)
  }
  expect([await isRevoked(companyId), await isRevoked(twinId)]).toEqual([false, true])
})

test('a recipient is looked up in the company of the status', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update customer_identities set identity = '39444' where company_id = ${twinId}`
  const find = (id: number) => findUnknownRecipients(db, [{ record: statusOf(id, 'read'), userId: 'IT.1' }])
  expect([await find(companyId), await find(twinId)]).toEqual([
    [{ place: 0, isKnown: true, account: 'WABA', requestedIdentity: '39333' }],
    [{ place: 0, isKnown: true, account: 'WABA', requestedIdentity: '39444' }],
  ])
  await db`
    insert into customer_identities (company_id, customer_id, identity, account, reported_at)
    values (${twinId}, 1, 'IT.1', 'WABA', ${AT})
  `
  expect([await find(companyId), await find(twinId)]).toEqual([
    [{ place: 0, isKnown: true, account: 'WABA', requestedIdentity: '39333' }],
    [],
  ])
})

test('wamids are recorded, and named by edits, in their own company', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update messages set wamid = 'another' where company_id = ${companyId}`
  await insertChange(companyId)
  const recorded = await findKnownWamids(
    db,
    [companyId, twinId].map((id) => ({
      companyId: id,
      wamid: WAMID,
      isReaction: false,
      identities: [],
      arrivedAt: null,
    })),
  )
  expect(recorded).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ companyId, isRecorded: false, isChanged: true }),
      expect.objectContaining({ companyId: twinId, isRecorded: true, isChanged: false }),
    ]),
  )
  expect(recorded).toHaveLength(2)
})

test('a batch changes the conversation of its company', async () => {
  const { companyId, twinId } = await createMessages()
  const written = { ...NOTHING_WRITTEN, companyId, id: 1, senderId: 1, customerId: 1, messages: 1, lastText: 'Hello' }
  await keepsRows(db, twinId, () => writeConversations(db, [{ ...written, isWrittenTo: true, unread: 1 }], AT))
  const [row] = await db`select last_text, unread_messages from conversations where company_id = ${companyId}`
  expect(row).toEqual({ lastText: 'Hello', unreadMessages: 1 })
})

const NOTHING_WRITTEN = {
  ...{
    isNew: false,
    userId: null,
    profileName: null,
    unread: 0,
    isAnswered: false,
    isWrittenTo: false,
    isClosed: false,
  },
  ...{ lastDirection: null, lastMessageAt: null, lastInboundAt: null, window: null, place: null },
}
