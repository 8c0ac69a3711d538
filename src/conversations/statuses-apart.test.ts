import { expect, test } from 'vitest'
import { AT, startTwins, statusOf, WAMID } from '../../test/conversations/apart-world.ts'
import { keepsRows } from '../../test/twins.ts'
import { findUnknownRecipients } from './recording/recipient-store.ts'
import { recordStatuses } from './recording/status-store.ts'
import { lockDueStatuses, settleWaitingStatuses, takeWaitingStatuses } from './recording/waiting-store.ts'

const { db, createMessages, statusesOf, addSender } = await startTwins()

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
