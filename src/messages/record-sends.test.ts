import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins } from '../../test/twins.ts'
import { jsonRows } from '../db/connect.ts'

const { db } = await createTestDatabase({ mirrors: true })

const AT = new Date('2026-01-03T00:00:00Z')
const HOUR_MS = 3_600_000
const [ONE, TWO, THREE] = ['39333', '39444', '39555']

type Send = { customer?: string; text?: string; daily_limit?: number; is_outside?: boolean; idempotency_id?: number }

/** An array of send_decision: accepted sends of the sender with id 1. */
const decided = (companyId: number, sends: readonly Send[]) => {
  const rows = sends.map(({ customer = ONE, is_outside = true, ...send }, ord) => ({
    item: {
      ord,
      company_id: companyId,
      sender_id: 1,
      customer,
      phone: customer,
      type: 'text',
      sender_name: 'Acme',
      ...send,
    },
    customer_key: customer,
    is_outside,
    has_contact: true,
    wait_seconds: 0,
    slot_wait: 0,
  }))
  return db`array(select send from jsonb_populate_recordset(null::send_decision, ${jsonRows(db, rows)}) as send)`
}

const createCustomer = () => createTwins(db, { contacts: [[1, ONE, ONE]], conversations: [[1, ONE, 1, 'open']] })

describe('record_send_conversations', () => {
  const record = (companyId: number, sends: readonly Send[]) =>
    db`select * from unnest(record_send_conversations(${decided(companyId, sends)}, ${AT}, ${AT}, 6))`

  test('adds all sends of a customer to the conversation of its company, once', async () => {
    const { companyId, twinId } = await createCustomer()
    await db`update conversations set message_count = 4, unread_messages = 2 where company_id > 0 and id = 1`
    const rows = await record(companyId, [{ text: 'a' }, { text: 'b' }])
    expect(rows).toEqual([{ companyId, senderId: 1, customerKey: ONE, conversationId: 1, messagesBefore: 4 }])
    const state = (id: number) =>
      db`select message_count, unread_messages, last_text, next_message_at from conversations where company_id = ${id}`
    expect(await state(companyId)).toEqual([
      { messageCount: 6, unreadMessages: 0, lastText: 'b', nextMessageAt: new Date(AT.getTime() + 12_000) },
    ])
    expect(await state(twinId)).toEqual([{ messageCount: 4, unreadMessages: 2, lastText: null, nextMessageAt: null }])
  })

  test('creates a missing conversation for the contact of the customer, and counts it', async () => {
    const { change, companyId } = await createTwins(db, { contacts: [[1, ONE, ONE]] })
    const { conversations } = await change((id) => record(id, [{}, {}]))
    expect(conversations).toEqual([[expect.any(Number), ONE, 1, 'open']])
    expect(await db`select total::int from conversation_counts where company_id = ${companyId}`).toEqual([{ total: 1 }])
  })
})

describe('record_send_messages', () => {
  const record = (companyId: number, sends: readonly Send[]) => db`
    select * from record_send_messages(
      ${decided(companyId, sends)},
      array[row(${companyId}::bigint, 1::bigint, ${ONE}, 1::bigint, 4::bigint)::recorded_conversation],
      ${AT}
    ) order by ord
  `

  test('numbers pending messages after those of the conversation, in the order of the sends', async () => {
    const { companyId, twinId } = await createCustomer()
    const recorded = await record(companyId, [{ text: 'a' }, { text: 'b' }])
    const messagesOf = (id: number) =>
      db`select id, seq, text, status from messages where company_id = ${id} order by seq`
    expect(await messagesOf(companyId)).toEqual([
      { id: recorded[0]!.messageId, seq: 5, text: 'a', status: 'pending' },
      { id: recorded[1]!.messageId, seq: 6, text: 'b', status: 'pending' },
    ])
    expect(await messagesOf(twinId)).toEqual([])
  })

  test('notes the message on the Idempotency-Key of its company alone', async () => {
    const { companyId, twinId } = await createCustomer()
    for (const id of [companyId, twinId]) {
      await db`
        insert into idempotency_keys (company_id, id, client_id, method, path, key, digest, lease_until)
        overriding system value
        values (${id}, 1, 'client', 'POST', '/send', 'key', '', now() + interval '1 minute')
      `
    }
    const [recorded] = await record(companyId, [{ idempotency_id: 1 }])
    const noted = async (id: number) => (await db`select message_id from idempotency_keys where company_id = ${id}`)[0]
    expect([await noted(companyId), await noted(twinId)]).toEqual([
      { messageId: recorded!.messageId },
      { messageId: null },
    ])
  })
})

describe('check_daily_limit', () => {
  const check = async (companyId: number, sends: readonly Send[], at = AT) => {
    const rows = await db`
      select refusal, retry_at from unnest(check_daily_limit(${decided(companyId, sends)}, ${at})) order by (item).ord
    `
    return rows.map(({ refusal }) => refusal)
  }
  const limited = (...customers: string[]) => customers.map((customer) => ({ customer, daily_limit: 2 }))

  test('refuses a customer beyond the limit, counting each customer of a batch once', async () => {
    const { companyId } = await createTwins(db)
    expect(await check(companyId, limited(ONE, ONE, TWO, THREE))).toEqual([null, null, null, 'limit'])
  })

  test('lets customers pass that were counted in the last 24 hours, and counts them no second time', async () => {
    const { companyId } = await createTwins(db)
    await check(companyId, limited(ONE, TWO))
    expect(await check(companyId, limited(ONE, TWO, THREE))).toEqual([null, null, 'limit'])
    expect(await db`select from daily_limit_entries where company_id = ${companyId}`).toHaveLength(2)
  })

  test('counts a customer again after 24 hours', async () => {
    const { companyId } = await createTwins(db)
    await check(companyId, limited(ONE, TWO))
    expect(await check(companyId, limited(THREE), new Date(AT.getTime() + 25 * HOUR_MS))).toEqual([null])
  })

  test('does not count sends within the window', async () => {
    const { companyId } = await createTwins(db)
    const inside = limited(ONE, TWO, THREE).map((send) => ({ ...send, is_outside: false }))
    expect(await check(companyId, inside)).toEqual([null, null, null])
    expect(await db`select from daily_limit_entries where company_id = ${companyId}`).toHaveLength(0)
  })

  test('counts per company also when the ids of senders are equal', async () => {
    const { companyId, twinId } = await createTwins(db)
    await check(companyId, limited(ONE, TWO))
    expect(await check(twinId, limited(THREE))).toEqual([null])
  })
})
