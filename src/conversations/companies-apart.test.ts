import { expect, test } from 'vitest'
import { AT, NOTHING_WRITTEN, startTwins, statusOf, WAMID } from '../../test/conversations/apart-world.ts'
import { ALL } from '../../test/lifetimes.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { findAged, haveAged, listCompaniesWith } from '../db/lifetime-store.ts'
import { keepAssignee, keepSignedIn, listAssignees, MAX_ASSIGNEES } from './assignees/assignee-store.ts'
import {
  findConversation,
  findPlace,
  hasWrittenSince,
  listConversationIdsOf,
  listMessagesByIds,
} from './conversation-store.ts'
import { selectByProfile } from './list/profile-search.ts'
import { earlierMessages } from './message-expiry-store.ts'
import { findKnownWamids, recordSentReactions } from './message-store.ts'
import { markRead, writeConversations } from './recording/conversation-write-store.ts'
import { recordStatuses } from './recording/status-store.ts'
import { findTargets } from './recording/waiting-store.ts'

const { db, createMessages, addSender, insertChange, applyChanges, isRevoked } = await startTwins()

test('a change names the message of its company', async () => {
  const { companyId } = await createMessages()
  expect(await findTargets(db, [{ companyId, targetWamid: WAMID }])).toMatchObject([
    { companyId, id: 1, conversationId: 1 },
  ])
})

test('messages that expire are those of each company', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update messages set created_at = now() - interval '400 days' where company_id = ${companyId}`
  expect(await listCompaniesWith(db, haveAged(earlierMessages(365)), 100)).toEqual([companyId])
  expect(await findAged(db, companyId, earlierMessages(365), ALL)).toEqual([1])
  expect(await findAged(db, twinId, earlierMessages(365), ALL)).toEqual([])
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

test('messages expire, though another company has a newer one with a lower id', async () => {
  const { companyId, twinId } = await createMessages({ twinMessageId: 2 })
  await db`update messages set created_at = now() - interval '400 days' where company_id = ${twinId}`
  const companies = (await listCompaniesWith(db, haveAged(earlierMessages(365)), 100)).filter((id) =>
    [companyId, twinId].includes(id),
  )
  expect(companies).toEqual([twinId])
  expect(await findAged(db, twinId, earlierMessages(365), ALL)).toEqual([2])
})

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

test('names are kept, and left out beyond the limit, in their company', async () => {
  const { companyId, twinId } = await createTwins(db)
  for (const id of [companyId, twinId])
    await db`
      insert into assignees (company_id, name, signed_in_at)
      select ${id}, 'person ' || number, '2026-01-01' from generate_series(1, ${MAX_ASSIGNEES}::int) as number`
  await keepsRows(db, twinId, () => keepSignedIn(db, companyId, 'Mara'))
  await keepsRows(db, twinId, () => keepAssignee(db, companyId, 'Night shift'))
  const [first] = await listAssignees(db, companyId)
  expect(first?.name).toBe('Mara')
  expect((await listAssignees(db, twinId)).map(({ name }) => name)).not.toContain('Mara')
})
