import { describe, expect, test } from 'vitest'
import { writeUnmirrored } from '../../../test/run/mirrors.ts'
import { completed, NOON, startBatches } from '../../../test/sends/batch-world.ts'
import { createCompany } from '../../../test/world.ts'
import { completeAbandoned } from '../message-store.ts'
import { prepareSends } from './send-batches.ts'

const { db, complete, world } = await startBatches()

describe('completing', () => {
  async function prepareOne() {
    const { companyId, send, count } = await world()
    const [prepared] = await prepareSends(db, [send()], NOON)
    if (prepared?.refusal !== null) throw new Error('refused')
    const read = async () => {
      const rows = await db`select status, wamid, error from messages where company_id = ${companyId}`
      return rows[0]
    }
    return { companyId, send, count, messageId: prepared.messageId, conversationId: prepared.conversationId, read }
  }

  test('moves a pending message to sent, with its wamid', async () => {
    const { companyId, messageId, read } = await prepareOne()
    await complete(completed(companyId, messageId))
    expect(await read()).toEqual({ status: 'sent', wamid: `wamid.${companyId}.${messageId}`, error: null })
  })

  test('never moves back what the provider has already reported', async () => {
    const { companyId, messageId, read } = await prepareOne()
    await db`update messages set status = 'read' where company_id = ${companyId}`
    const error = { code: 1, title: 'late', details: null }
    await complete({ ...completed(companyId, messageId), status: 'failed', error })
    expect(await read()).toMatchObject({ status: 'read', error: null })
  })

  test('names another company and changes nothing', async () => {
    const { messageId, read } = await prepareOne()
    const foreign = await createCompany(db)
    await complete(completed(foreign, messageId))
    expect(await read()).toMatchObject({ status: 'pending', wamid: null })
  })

  const report = (companyId: number, reported: string) => ({
    companyId,
    requestedIdentity: '393331234567',
    phone: /^[0-9]/.test(reported) ? reported : null,
    userId: /^[0-9]/.test(reported) ? null : reported,
    account: 'WABA1',
    at: NOON.getTime(),
  })

  test('later sends to the number under which the provider knows the recipient meet in one conversation', async () => {
    const { companyId, messageId, conversationId, send, count } = await prepareOne()
    await complete({ ...completed(companyId, messageId), recipient: report(companyId, '390000000001') })
    const [next] = await prepareSends(db, [send({ identity: '390000000001', phone: '390000000001' })], NOON)
    expect(next).toMatchObject({ conversationId })
    expect(await count('contacts')).toBe(1)
  })

  test('the user id that the provider names leads to the customer', async () => {
    const { companyId, messageId, conversationId, send, count } = await prepareOne()
    await complete({ ...completed(companyId, messageId), recipient: report(companyId, 'US.known') })
    const [next] = await prepareSends(db, [send({ identity: 'US.known', phone: null })], NOON)
    expect(next).toMatchObject({ conversationId })
    expect(await count('contacts')).toBe(1)
    expect(await db`select user_id from conversations where company_id = ${companyId}`).toEqual([
      { userId: 'US.known' },
    ])
  })

  test('a user id other than the one known for the number joins no customer: the number was recycled', async () => {
    const { companyId, messageId, send, count } = await prepareOne()
    const sent = completed(companyId, messageId)
    await complete({ ...sent, recipient: report(companyId, 'US.known') })
    await complete({ ...sent, recipient: report(companyId, 'US.other') })
    await prepareSends(db, [send({ identity: 'US.other', phone: null })], NOON)
    expect([await count('conversations'), await count('contacts')]).toEqual([2, 2])
  })

  test('points the requested number to the conversation that the customer has already', async () => {
    const { companyId, messageId, send } = await prepareOne()
    const [existing] = await prepareSends(db, [send({ identity: '390000000002', phone: '390000000002' })], NOON)
    await complete({ ...completed(companyId, messageId), recipient: report(companyId, '390000000002') })
    const [next] = await prepareSends(db, [send()], NOON)
    expect(next).toMatchObject({ conversationId: (existing as { conversationId: number }).conversationId })
  })

  describe('a reply', () => {
    const unread = async (companyId: number) => {
      const [row] = await db<{ unreadMessages: number; isUnread: boolean }[]>`
        select conversation.unread_messages, activity.is_unread
        from conversations conversation
        join conversation_activity activity
          on (activity.company_id, activity.conversation_id) = (conversation.company_id, conversation.id)
        where conversation.company_id = ${companyId}
      `
      return row
    }
    const receive = async (companyId: number, seq: number) => {
      await db`
        insert into messages (company_id, conversation_id, seq, direction, type, status)
        select company_id, id, ${seq}, 'inbound', 'text', 'received' from conversations where company_id = ${companyId}
      `
      await db`
        update conversations set unread_messages = unread_messages + 1, message_count = ${seq} where company_id = ${companyId}
      `
      await db`update conversation_activity set is_unread = true where company_id = ${companyId}`
    }

    test.each([
      ['sent', { unreadMessages: 0, isUnread: false }],
      ['unknown', { unreadMessages: 0, isUnread: false }],
      ['failed', { unreadMessages: 1, isUnread: true }],
    ] as const)('that ended as %s leaves the unread messages %o', async (status, expected) => {
      const { companyId, send } = await prepareOne()
      await receive(companyId, 2)
      const [reply] = await prepareSends(db, [send()], NOON)
      if (reply?.refusal !== null) throw new Error('refused')
      expect(await unread(companyId)).toEqual({ unreadMessages: 1, isUnread: true })
      await complete({ ...completed(companyId, reply.messageId), status })
      expect(await unread(companyId)).toEqual(expected)
    })

    test('does not read what came after it', async () => {
      const { companyId, send } = await prepareOne()
      await receive(companyId, 2)
      const [reply] = await prepareSends(db, [send()], NOON)
      if (reply?.refusal !== null) throw new Error('refused')
      await receive(companyId, 4)
      await complete(completed(companyId, reply.messageId))
      expect(await unread(companyId)).toEqual({ unreadMessages: 1, isUnread: true })
    })
  })

  test('sends whose process died become unknown, and nothing else does', async () => {
    const { companyId, messageId, read } = await prepareOne()
    // The statement works over all companies.
    await writeUnmirrored(db, (tx) => tx`delete from messages where company_id < 0`)
    await db`update messages set created_at = now() - interval '50 seconds' where company_id = ${companyId}`
    expect(await completeAbandoned(db, 60)).not.toContainEqual({ companyId, id: messageId })
    expect(await read()).toMatchObject({ status: 'pending' })
    await db`update messages set created_at = now() - interval '61 seconds' where company_id = ${companyId}`
    expect(await completeAbandoned(db, 60)).toContainEqual({ companyId, id: messageId })
    expect(await read()).toMatchObject({ status: 'unknown' })
  })
})
