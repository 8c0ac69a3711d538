import { describe, expect, test } from 'vitest'
import { hoursAfter, NOON, startBatches } from '../../../test/sends/batch-world.ts'
import { createSender, messageFrom, NO_CONSEQUENCES, record } from '../../../test/world.ts'
import { connect } from '../../db/connect.ts'
import { fixedClock } from '../../platform/clock.ts'
import { createSendBatches, prepareSends } from './send-batches.ts'

const { db, url, world } = await startBatches()

describe('a send to a new customer', () => {
  test('makes a contact, a conversation and a pending message', async () => {
    const { companyId, senderId, send } = await world()
    const [prepared] = await prepareSends(db, [send({ contactSource: 'Shop' })], NOON)
    expect(prepared).toMatchObject({ refusal: null })
    expect(await db`select phone, source, source_type from contacts where company_id = ${companyId}`).toEqual([
      { phone: '393331234567', source: 'Shop', sourceType: 'service' },
    ])
    expect(
      await db`
        select sender_id, status, message_count, last_text, last_direction, last_message_at
        from conversations where company_id = ${companyId}
      `,
    ).toEqual([
      {
        senderId,
        status: 'open',
        messageCount: 1,
        lastText: 'Hello',
        lastDirection: 'outbound',
        lastMessageAt: NOON,
      },
    ])
    expect(await db`select seq, direction, status, sender_name from messages where company_id = ${companyId}`).toEqual([
      { seq: 1, direction: 'outbound', status: 'pending', senderName: 'Shop key' },
    ])
  })

  test('fifty at once from two processes make one contact, one conversation, fifty messages', async () => {
    const { companyId, send, count } = await world()
    const other = connect(url)
    const processes = [db, other].map((pool) => createSendBatches(pool, fixedClock(NOON), NO_CONSEQUENCES))
    await Promise.all(Array.from({ length: 50 }, (_, index) => processes[index % 2]!.prepareSend(send())))
    await other.end()
    expect([await count('contacts'), await count('conversations'), await count('messages')]).toEqual([1, 1, 50])
    const rows = await db<{ seq: number }[]>`select seq from messages where company_id = ${companyId} order by id`
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
  })

  test('one batch of fifty to one number does the same', async () => {
    const { send, count } = await world()
    await prepareSends(
      db,
      Array.from({ length: 50 }, () => send()),
      NOON,
    )
    expect([await count('contacts'), await count('conversations'), await count('messages')]).toEqual([1, 1, 50])
  })

  test('an existing contact is never modified', async () => {
    const { companyId, send } = await world()
    await prepareSends(db, [send({ contactSource: 'First' })], NOON)
    const before = await db`select * from contacts where company_id = ${companyId}`
    await prepareSends(db, [send({ contactSource: 'Second' })], hoursAfter(1))
    expect(await db`select * from contacts where company_id = ${companyId}`).toEqual(before)
  })

  test('a send by a slower clock never moves a conversation back in its list', async () => {
    const { companyId, send } = await world()
    await prepareSends(db, [send()], hoursAfter(1))
    await prepareSends(db, [send()], NOON)
    expect(await db`select active_at from conversation_activity where company_id = ${companyId}`).toEqual([
      { activeAt: hoursAfter(1) },
    ])
  })

  test('a user id makes a contact without a phone', async () => {
    const { companyId, send } = await world()
    await prepareSends(db, [send({ identity: 'US.13491208655302741918', phone: null })], NOON)
    expect(await db`select phone from contacts where company_id = ${companyId}`).toEqual([{ phone: null }])
  })
})

describe('a contact that a send creates', () => {
  const say = (companyId: number, identity: string) => db`
    insert into consents (company_id, channel, identity, value, said_at, source)
    values (${companyId}, 'whatsapp', ${identity}, false, ${NOON}, 'test')
  `
  const shown = async (companyId: number) => {
    const rows = await db`
      select whatsapp_consent from contacts where company_id = ${companyId} and deleted_at is null order by id
    `
    return rows.map(({ whatsappConsent }) => whatsappConsent)
  }

  test('shows what its customer said before, and nothing of other customers and companies', async () => {
    const { companyId, send } = await world()
    const foreign = await world()
    await say(companyId, '391')
    await say(foreign.companyId, '392')
    const sends = ['391', '392'].map((customer) => send({ identity: customer, phone: customer }))
    await prepareSends(db, sends, NOON)
    expect(await shown(companyId)).toEqual([false, null])
  })

  test('shows the opt-out of a person who was erased', async () => {
    const { companyId, send } = await world()
    const [hash] = await db`select keyed_hash(${companyId}, '391') as identity`
    await say(companyId, hash!.identity)
    await prepareSends(db, [send({ identity: '391', phone: '391' })], NOON)
    expect(await shown(companyId)).toEqual([false])
  })

  test('in place of a deleted one shows what was said under any identity of the customer', async () => {
    const { companyId, senderId, send } = await world()
    await record(db, [{ ...messageFrom(companyId, senderId, '391'), userId: 'IT.1' }], NOON)
    await db`update contacts set deleted_at = ${NOON} where company_id = ${companyId}`
    await say(companyId, 'IT.1')
    await prepareSends(db, [send({ identity: '391', phone: '391' })], NOON)
    expect(await shown(companyId)).toEqual([false])
  })
})

test('a reply never reaches the person to whom the number of its customer has gone', async () => {
  const { companyId, senderId, send, count } = await world()
  const from = (userId: string, wamid: string, at: Date) =>
    record(db, [{ ...messageFrom(companyId, senderId, '393331110001'), userId, wamid, sentAt: at }], at)
  const [former] = await from('IT.1', 'wamid.1', NOON)
  const [next] = await from('IT.2', 'wamid.2', hoursAfter(1))
  const reply = send({ identity: '393331110001', phone: '393331110001', conversationId: former!.conversationId })
  expect(await prepareSends(db, [reply], hoursAfter(2))).toEqual([{ refusal: 'moved' }])
  expect(await count('messages')).toBe(2)
  const toNext = await prepareSends(db, [{ ...reply, conversationId: next!.conversationId }], hoursAfter(2))
  expect(toNext).toMatchObject([{ refusal: null, conversationId: next!.conversationId }])
})

test('a conversation that a send to a former user id opens shows the current one', async () => {
  const { companyId, senderId, send } = await world()
  await record(db, [{ ...messageFrom(companyId, senderId, ''), phone: null, userId: 'IT.1' }], NOON)
  const change = { phone: null, previousUserIds: ['IT.1'], userId: 'IT.2', isMessage: false, account: 'WABA1' }
  const entry = { kind: 'user-id-change', companyId, wamid: null, change: { ...change, at: NOON.getTime() } } as const
  await record(db, [entry], hoursAfter(1))
  const other = await createSender(db, companyId)
  await prepareSends(db, [send({ identity: 'IT.1', phone: null, senderId: other })], hoursAfter(2))
  const rows = await db`select user_id from conversations where company_id = ${companyId} order by id`
  expect(rows.map(({ userId }) => userId)).toEqual(['IT.2', 'IT.2'])
})

test('a conversation that a send opens shows the user id that the customer has in the account of its number', async () => {
  const { companyId, senderId, send } = await world()
  await record(db, [{ ...messageFrom(companyId, senderId, '393331110001'), userId: 'IT.1' }], NOON)
  const other = await createSender(db, companyId)
  const foreign = await createSender(db, companyId, 'WABA2')
  const to = { identity: '393331110001', phone: '393331110001' }
  await prepareSends(
    db,
    [send({ ...to, senderId: other }), send({ ...to, senderId: foreign, account: 'WABA2' })],
    hoursAfter(1),
  )
  const rows = await db`select user_id from conversations where company_id = ${companyId} order by id`
  expect(rows.map(({ userId }) => userId)).toEqual(['IT.1', 'IT.1', null])
})
