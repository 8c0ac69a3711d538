import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { ALL } from '../../test/lifetimes.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { sql } from '../db/connect.ts'
import { expireRows, listExpiring } from '../db/lifetime-store.ts'
import { deleteMedia } from '../media/media-store.ts'
import { eraseMessages, findConversations, findMessages, listWamids } from './conversation-erasure-store.ts'
import { deleteMessages } from './message-expiry-store.ts'
import { deleteChanges, findChanges } from './writer-erasure-store.ts'

// Erasures and the deletion of old messages, in companies whose rows have the same ids.
const { db } = await createTestDatabase()
const AT = new Date('2026-01-03T00:00:00Z')
const CUSTOMER = '39333'

/**
 * Two companies with a conversation and a group each. Message 1 is in the conversation of the first company and in the
 * group of the other, under another wamid. Both have reactions to and changes of both wamids.
 */
async function createMessages() {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [
      [1, CUSTOMER, CUSTOMER],
      [2, '39444', '39444'],
    ],
    customers: [
      [1, 1, CUSTOMER],
      [2, 1, null],
    ],
    identities: [
      [CUSTOMER, 1],
      ['IT.1', 1],
      ['#group', 2],
    ],
    conversations: [
      [1, 1, 'open', 'IT.1'],
      [2, 2, 'open'],
    ],
  })
  for (const [id, conversationId, wamid] of [[companyId, 1, 'w1'] as const, [twinId, 2, 'w2'] as const]) {
    await db`update conversations set message_count = 1, last_text = 'Hello' where company_id = ${id}`
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, text, status, wamid)
      overriding system value
      values (${id}, 1, ${conversationId}, 1, 'inbound', 'text', 'Hello', 'received', ${wamid})
    `
    await db`insert into message_status_events (company_id, message_id, status) values (${id}, 1, 'sent')`
    await db`
      insert into media (company_id, message_id, sender_id, provider_media_id, storage_key)
      values (${id}, 1, 1, 'media', 'key')
    `
    await db`
      insert into message_reactions (company_id, wamid, target_wamid, emoji, occurred_at)
      values (${id}, 'r1', 'w1', 'A', ${AT}), (${id}, 'r2', 'w2', 'B', ${AT})
    `
    await db`
      insert into message_changes (company_id, wamid, sender_id, direction, writers, target_wamid, kind, occurred_at)
      values
        (${id}, 'c1', 1, 'inbound', ${[CUSTOMER]}, 'w1', 'revoke', ${AT}),
        (${id}, 'c2', 1, 'inbound', '{39444}', 'w2', 'revoke', ${AT})
    `
  }
  return { companyId, twinId }
}

/** The message of a company and the rows that belong to it. */
async function leftOf(companyId: number) {
  const [row] = await db`
    select
      array(select text from messages where company_id = ${companyId}) as texts,
      array(select coalesce(emoji, '') from message_reactions where company_id = ${companyId} order by ordinal) as reactions,
      array(select target_wamid from message_changes where company_id = ${companyId} order by ordinal) as changed,
      array(select coalesce(last_text, '') from conversations where company_id = ${companyId} order by id) as shown,
      array(select expired_count from conversations where company_id = ${companyId} order by id)::integer[] as expired,
      (select count(*)::integer from media where company_id = ${companyId}) as media,
      (select count(*)::integer from message_status_events where company_id = ${companyId}) as statuses
  `
  return row
}

test('old messages are deleted with their own reactions, changes, statuses and media', async () => {
  const { companyId, twinId } = await createMessages()
  await keepsRows(db, twinId, async () => {
    await deleteMedia(db, companyId, sql`message_id = 1`)
    await deleteMessages(db, companyId, [1])
  })
  expect(await leftOf(companyId)).toEqual({
    ...{ texts: [], reactions: ['B'], changed: ['w2'], shown: ['', 'Hello'], expired: [1, 0] },
    ...{ media: 0, statuses: 0 },
  })
})

test('old reactions are deleted, though newer ones of another company have their wamids', async () => {
  const { companyId, twinId } = await createMessages()
  const reactions = listExpiring({ messageDays: 30, deliveryLogDays: 30 }).find(
    ({ table }) => table === 'message_reactions',
  )
  await db`
    update message_reactions
    set occurred_at = now() - make_interval(days => case company_id when ${companyId} then 31 else 1 end)
  `
  await keepsRows(db, twinId, () => expireRows(db, reactions!, ALL))
  expect(await leftOf(companyId)).toMatchObject({ reactions: [] })
})

test('an erased message loses its own reactions, changes and statuses', async () => {
  const { companyId, twinId } = await createMessages()
  await keepsRows(db, twinId, () => eraseMessages(db, companyId, [{ id: 1, wamid: 'w1' }]))
  expect(await leftOf(companyId)).toEqual({
    ...{ texts: ['[erased]'], reactions: ['', 'B'], changed: ['erased:1', 'w2'], shown: ['[erased]', 'Hello'] },
    ...{ expired: [0, 0], media: 1, statuses: 0 },
  })
})

test('an erased message loses its content, and messages that answer it their quote', async () => {
  const { companyId, twinId } = await createMessages()
  for (const id of [companyId, twinId]) {
    const conversationId = id === companyId ? 1 : 2
    await db`update messages set content = '{"type":"reply"}', quoted_wamid = 'w1' where company_id = ${id}`
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status, content, quoted_wamid)
      overriding system value
      values (${id}, 2, ${conversationId}, 2, 'outbound', 'text', 'sent', '{"type":"location"}', 'w1')
    `
  }
  await keepsRows(db, twinId, () => eraseMessages(db, companyId, [{ id: 1, wamid: 'w1' }]))
  const rows = await db`select content, quoted_wamid from messages where company_id = ${companyId} order by id`
  expect([...rows]).toEqual([
    { content: null, quotedWamid: null },
    { content: { type: 'location' }, quotedWamid: null },
  ])
})

test('changes by an erased writer are deleted in the company of the writer', async () => {
  const { companyId, twinId } = await createMessages()
  const wamids = await findChanges(db, companyId, [CUSTOMER], 100)
  expect(wamids).toHaveLength(1)
  await keepsRows(db, twinId, () => deleteChanges(db, companyId, wamids))
  expect(await leftOf(companyId)).toMatchObject({ changed: ['w2'] })
})

test('an erasure finds conversations, messages and wamids of its company', async () => {
  const { companyId, twinId } = await createMessages()
  expect(await findConversations(db, companyId, 1, 0, 10)).toEqual({ own: [1], groups: [2], last: 2 })
  expect(await findMessages(db, companyId, 2, undefined, 0, 10)).toEqual({ messages: [], last: null })
  await db`update message_reactions set wamid = 'other ' || wamid where company_id = ${twinId}`
  await db`update message_changes set wamid = 'other ' || wamid where company_id = ${twinId}`
  const wamids = (await listWamids(db, companyId, [{ id: 1, wamid: 'w1' }])).map(({ wamid }) => wamid)
  expect(wamids).toEqual(['w1', 'r1', 'c1'])
})
