import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins } from '../../test/twins.ts'
import { findTargets } from './message-change-store.ts'
import { findExpiredMessages } from './message-expiry-store.ts'
import { recordStatuses } from './status-store.ts'
import { type StatusRecord, storeWaitingStatuses } from './waiting-status-store.ts'

const { db } = await createTestDatabase()
const AT = new Date('2026-01-03T00:00:00Z')
const WAMID = 'wamid.1'

/** Two companies that have each a message with the same ids, and a copy of its media under a name of its own. */
async function createMessages() {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, '39333', '39333']],
    conversations: [[1, '39333', 1, 'open']],
  })
  for (const id of [companyId, twinId]) {
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status, wamid, provider_message_id)
      overriding system value
      values (${id}, 1, 1, 1, 'outbound', 'text', 'sent', ${WAMID}, ${WAMID})
    `
    await db`
      insert into media (company_id, message_id, sender_id, provider_media_id, storage_key)
      values (${id}, 1, 1, 'media', ${`copy of ${id}`})
    `
  }
  return { companyId, twinId }
}

const told = (companyId: number, status: StatusRecord['status']): StatusRecord => ({
  companyId,
  senderId: 1,
  wamid: WAMID,
  providerMessageId: null,
  messageId: null,
  status,
  occurredAt: AT,
  error: null,
})

const statusesOf = async (...companies: number[]) => {
  const rows = await db<{ companyId: number; status: string }[]>`
    select company_id, status from messages where company_id = any(${companies}::bigint[])
  `
  return companies.map((id) => rows.find(({ companyId }) => companyId === id)?.status)
}

test('statuses that come together change each the message of its own company', async () => {
  const { companyId, twinId } = await createMessages()
  const changed = await recordStatuses(db, [told(companyId, 'read'), told(twinId, 'delivered')], AT)
  expect(await statusesOf(companyId, twinId)).toEqual(['read', 'delivered'])
  expect(changed.map((row) => row.companyId).toSorted()).toEqual([companyId, twinId].toSorted())
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
  await recordStatuses(db, [told(companyId, 'read')], AT)
  expect(await statusesOf(companyId, twinId)).toEqual(['read', 'sent'])
})

test('a status moves a message forward from where it is in its company', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update messages set status = 'read' where company_id = ${twinId}`
  await recordStatuses(db, [told(companyId, 'delivered'), told(twinId, 'delivered')], AT)
  expect(await statusesOf(companyId, twinId)).toEqual(['delivered', 'read'])
})

test('a status waits, although another company has a message with its ids', async () => {
  const { companyId, twinId } = await createMessages()
  await db`delete from media where company_id = ${companyId}`
  await db`delete from messages where company_id = ${companyId}`
  const names = [
    { wamid: WAMID, messageId: null },
    { wamid: null, messageId: 1 },
    { wamid: null, messageId: null },
  ]
  const records = (id: number) =>
    names.map((name) => ({
      ...told(id, 'read'),
      providerMessageId: (name.wamid ?? name.messageId) ? 'new' : WAMID,
      ...name,
    }))
  await storeWaitingStatuses(db, [...records(companyId), ...records(twinId)])
  const waiting = await db`select company_id from waiting_statuses where company_id in (${companyId}, ${twinId})`
  expect(waiting.map((row) => row.companyId)).toEqual([companyId, companyId, companyId])
})

test('a change names the message of its company', async () => {
  const { companyId } = await createMessages()
  expect(await findTargets(db, [{ companyId, targetWamid: WAMID }])).toEqual([{ companyId, id: 1, conversationId: 1 }])
})

test('messages that expire are those of each company, with the files of the company', async () => {
  const { companyId, twinId } = await createMessages()
  await db`update messages set created_at = now() - interval '400 days' where company_id in (${companyId}, ${twinId})`
  const expired = await findExpiredMessages(db, 365, 100, 100)
  expect(expired.toSorted((a, b) => a.companyId - b.companyId)).toEqual(
    [companyId, twinId]
      .toSorted((a, b) => a - b)
      .map((id) => ({ companyId: id, ids: [1], storageKeys: [`copy of ${id}`] })),
  )
})
