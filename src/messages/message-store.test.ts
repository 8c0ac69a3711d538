import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { writeUnmirrored } from '../../test/mirrors.ts'
import { createCompany, createSender, messageFrom, messageTo } from '../../test/world.ts'
import { fixedClock } from '../clock.ts'
import { recordInbound } from '../conversations/record-store.ts'
import { connect, type Pool } from '../db/connect.ts'
import { releaseKey, reserveKey } from '../http/idempotency-store.ts'
import { completeAbandoned, completeSends, prepareSends, type SendToPrepare } from './message-store.ts'
import { createSendBatches } from './send-batches.ts'

let db: Pool
let url: string
beforeAll(async () => {
  ;({ db, url } = await createTestDatabase({ mirrors: true }))
})

const NOON = new Date('2026-11-21T12:00:00Z')
const hoursAfter = (hours: number) => new Date(NOON.getTime() + hours * 3_600_000)

async function world() {
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const send = (changes: Partial<SendToPrepare> = {}): SendToPrepare => ({
    ...messageTo(companyId, senderId, '393331234567'),
    ...changes,
  })
  const count = async (table: string) => {
    const [row] = await db<{ n: number }[]>`select count(*)::int as n from ${db(table)} where company_id = ${companyId}`
    return row!.n
  }
  return { companyId, senderId, send, count }
}

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
        select sender_id, customer, status, message_count, last_text, last_direction, last_message_at
        from conversations where company_id = ${companyId}
      `,
    ).toEqual([
      {
        senderId,
        customer: '393331234567',
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
    const processes = [db, other].map((pool) => createSendBatches(pool, fixedClock(NOON), async () => {}))
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
    await prepareSends(db, [send({ customer: 'US.13491208655302741918', phone: null })], NOON)
    expect(await db`select phone from contacts where company_id = ${companyId}`).toEqual([{ phone: null }])
  })
})

describe('a customer that another transaction has locked', () => {
  test('is left out of its batch; the sends of all others go on', async () => {
    const one = await world()
    const two = await world()
    const { prepareSend } = createSendBatches(db, fixedClock(NOON), async () => {})
    const free = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holder = db.begin(async (tx) => {
      await tx`select lock_customers(array[row(${one.companyId}, '393331234567')::customer_key])`
      locked.resolve()
      await free.promise
    })
    await locked.promise
    const held = prepareSend(one.send())
    const others = [
      one.send({ customer: '391', phone: '391' }),
      two.send(),
      two.send({ customer: '392', phone: '392' }),
    ]
    for (const other of others) expect(await prepareSend(other)).toMatchObject({ refusal: null })
    expect(await one.count('messages')).toBe(1)
    free.resolve()
    await holder
    expect(await held).toMatchObject({ refusal: null })
    expect([await one.count('messages'), await two.count('messages')]).toEqual([2, 2])
  })

  test('is answered busy, with nothing written, when the lock is held for longer than a caller waits', async () => {
    const { companyId, send, count } = await world()
    const { prepareSend } = createSendBatches(db, fixedClock(NOON), async () => {})
    await db.begin(async (tx) => {
      await tx`select lock_customers(array[row(${companyId}, '393331234567')::customer_key])`
      expect(await prepareSend(send())).toEqual({ refusal: 'busy' })
    })
    expect(await count('messages')).toBe(0)
  })

  test('and a row that another session holds delays other companies by a second at most', async () => {
    const one = await world()
    const two = await world()
    const { prepareSend } = createSendBatches(db, fixedClock(NOON), async () => {})
    await prepareSend(one.send())
    await db.begin(async (tx) => {
      await tx`select from conversations where company_id = ${one.companyId} for update`
      const held = expect(prepareSend(one.send())).rejects.toMatchObject({ status: 503 })
      expect(await prepareSend(two.send())).toMatchObject({ refusal: null })
      await held
    })
    expect([await one.count('messages'), await two.count('messages')]).toEqual([1, 1])
  })
})

describe('an Idempotency-Key', () => {
  const reserve = async (companyId: number) => {
    const digest = Buffer.alloc(32)
    const asked = { companyId, clientId: 'c', method: 'POST', path: '/send', key: randomUUID(), digest }
    const reserved = await reserveKey(db, asked)
    if (reserved.state !== 'reserved') throw new Error(reserved.state)
    return { asked, id: reserved.id }
  }
  const notSent = {
    status: 'failed',
    wamid: null,
    providerMessageId: null,
    dialled: '393331234567',
    customer: null,
    error: null,
  } as const

  test('that was released, or claimed by a repeated request, sends nothing', async () => {
    const { companyId, send, count } = await world()
    const { id } = await reserve(companyId)
    await releaseKey(db, companyId, id)
    const prepared = await prepareSends(db, [send({ idempotencyId: id }), send()], NOON)
    expect(prepared).toMatchObject([{ refusal: 'key' }, { refusal: null }])
    expect(await count('messages')).toBe(1)
  })

  test('is released when nothing was sent, and only then', async () => {
    const { companyId, send } = await world()
    const { asked, id } = await reserve(companyId)
    const [prepared] = await prepareSends(db, [send({ idempotencyId: id })], NOON)
    if (prepared?.refusal !== null) throw new Error('refused')
    await releaseKey(db, companyId, id)
    expect(await reserveKey(db, asked)).toEqual({ state: 'running' })
    const { messageId } = prepared
    const ended = { companyId, messageId, idempotencyId: id, hasProviderMedia: false, ...notSent }
    await completeSends(db, [{ ...ended, status: 'unknown', answer: { status: 503, body: '{}' } }], NOON)
    await completeSends(db, [{ ...ended, answer: null }], NOON)
    expect(await reserveKey(db, asked)).toMatchObject({ state: 'answered', status: 503 })

    const second = await reserve(companyId)
    const [again] = await prepareSends(db, [send({ idempotencyId: second.id })], NOON)
    if (again?.refusal !== null) throw new Error('refused')
    const refused = { ...ended, messageId: again.messageId, idempotencyId: second.id }
    await completeSends(db, [{ ...refused, answer: null }], NOON)
    expect(await reserveKey(db, second.asked)).toMatchObject({ state: 'reserved' })
  })
})

test('one batch serves several companies, each by itself and in the order given', async () => {
  const one = await world()
  const two = await world()
  const prepared = await prepareSends(db, [one.send(), two.send({ needsWindow: true }), two.send(), one.send()], NOON)
  expect(prepared.map(({ refusal }) => refusal)).toEqual([null, 'window', null, null])
  expect([await one.count('messages'), await two.count('messages')]).toEqual([2, 1])
})

describe('the 24-hour window', () => {
  test('closed, a send that needs it is refused and leaves nothing behind', async () => {
    const { send, count } = await world()
    expect(await prepareSends(db, [send({ needsWindow: true })], NOON)).toEqual([
      { refusal: 'window', lastInboundAt: null },
    ])
    expect([await count('contacts'), await count('conversations'), await count('messages')]).toEqual([0, 0, 0])
  })

  test('is open for strictly less than 24 hours after the last inbound', async () => {
    const { companyId, send } = await world()
    await prepareSends(db, [send()], NOON)
    await db`update conversations set last_inbound_at = ${NOON} where company_id = ${companyId}`
    const justBefore = new Date(hoursAfter(24).getTime() - 1)
    expect((await prepareSends(db, [send({ needsWindow: true })], justBefore))[0]).toMatchObject({ refusal: null })
    expect(await prepareSends(db, [send({ needsWindow: true })], hoursAfter(24))).toEqual([
      { refusal: 'window', lastInboundAt: NOON },
    ])
  })
})

test('a contact who opted out gets no marketing', async () => {
  const { companyId, send } = await world()
  await prepareSends(db, [send()], NOON)
  await db`update contacts set whatsapp_consent = false where company_id = ${companyId}`
  expect(await prepareSends(db, [send({ needsConsent: true })], NOON)).toEqual([{ refusal: 'consent' }])
  expect((await prepareSends(db, [send()], NOON))[0]).toMatchObject({ refusal: null })
})

describe('the daily limit', () => {
  const to = (customer: string) => ({ customer, phone: customer, dailyLimit: 2 })

  test('counts distinct customers, refuses the next and frees their places after 24 hours', async () => {
    const { send, count } = await world()
    const refusals = async (customers: string[], at: Date) =>
      (
        await prepareSends(
          db,
          customers.map((customer) => send(to(customer))),
          at,
        )
      ).map(({ refusal }) => refusal)
    expect(await refusals(['391', '391', '392', '393', '392'], NOON)).toEqual([null, null, null, 'limit', null])
    expect(await refusals(['391'], hoursAfter(1))).toEqual([null])
    expect(await refusals(['393'], hoursAfter(23))).toEqual(['limit'])
    expect(await refusals(['393', '394', '395'], hoursAfter(24))).toEqual([null, null, 'limit'])
    expect(await count('contacts')).toBe(4)
  })

  test('says when the next place is free', async () => {
    const { send } = await world()
    await prepareSends(db, [send(to('391'))], NOON)
    await prepareSends(db, [send(to('392'))], hoursAfter(2))
    expect(await prepareSends(db, [send(to('393'))], hoursAfter(3))).toEqual([
      { refusal: 'limit', retryAt: hoursAfter(24) },
    ])
  })

  test('is exact when many write at once from two processes', async () => {
    const { send } = await world()
    const other = connect(url)
    const prepared = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        prepareSends(index % 2 ? db : other, [send({ customer: `39${100 + index}`, dailyLimit: 7 })], NOON),
      ),
    )
    await other.end()
    expect(prepared.flat().filter(({ refusal }) => refusal === null)).toHaveLength(7)
  })

  test('does not count customers in an open window', async () => {
    const { companyId, send } = await world()
    await prepareSends(db, [send()], NOON)
    await db`update conversations set last_inbound_at = ${NOON} where company_id = ${companyId}`
    await prepareSends(db, [send({ dailyLimit: 1 })], hoursAfter(1))
    expect((await prepareSends(db, [send({ ...to('399'), dailyLimit: 1 })], hoursAfter(1)))[0]).toMatchObject({
      refusal: null,
    })
  })
})

describe('completing', () => {
  const completed = (companyId: number, messageId: number) => ({
    companyId,
    messageId,
    status: 'sent' as const,
    wamid: `wamid.${companyId}.${messageId}`,
    providerMessageId: null,
    dialled: '393331234567',
    customer: null,
    error: null,
    hasProviderMedia: false,
    idempotencyId: null,
    answer: null,
  })

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
    await completeSends(db, [completed(companyId, messageId)], NOON)
    expect(await read()).toEqual({ status: 'sent', wamid: `wamid.${companyId}.${messageId}`, error: null })
  })

  test('never moves back what the provider has already reported', async () => {
    const { companyId, messageId, read } = await prepareOne()
    await db`update messages set status = 'read' where company_id = ${companyId}`
    const error = { code: 1, title: 'late', details: null }
    await completeSends(db, [{ ...completed(companyId, messageId), status: 'failed', error }], NOON)
    expect(await read()).toMatchObject({ status: 'read', error: null })
  })

  test('names another company and changes nothing', async () => {
    const { messageId, read } = await prepareOne()
    const foreign = await createCompany(db)
    await completeSends(db, [completed(foreign, messageId)], NOON)
    expect(await read()).toMatchObject({ status: 'pending', wamid: null })
  })

  test('keeps the number that the provider knows as an alias: later sends to it meet in one conversation', async () => {
    const { companyId, messageId, conversationId, send } = await prepareOne()
    await completeSends(db, [{ ...completed(companyId, messageId), customer: '390000000001' }], NOON)
    const [next] = await prepareSends(db, [send({ customer: '390000000001', phone: '390000000001' })], NOON)
    expect(next).toMatchObject({ conversationId })
  })

  test('keeps it as an alias of the contact as well: the answer from it is the same person’s', async () => {
    const { companyId, messageId, conversationId, send, count } = await prepareOne()
    await completeSends(db, [{ ...completed(companyId, messageId), customer: '390000000003' }], NOON)
    const { senderId } = send()
    const [answer] = await recordInbound(db, [messageFrom(companyId, senderId, '390000000003')], NOON)
    expect(answer).toMatchObject({ isNew: true, conversationId })
    expect(await count('contacts')).toBe(1)
  })

  test('a user id other than the one known for the number is joined to no contact: the number was recycled', async () => {
    const { companyId, messageId, send, count } = await prepareOne()
    const { senderId } = send()
    const writing = { ...messageFrom(companyId, senderId, '393331234567'), other: 'US.known' }
    await recordInbound(db, [writing], NOON)
    await completeSends(db, [{ ...completed(companyId, messageId), customer: 'US.other' }], NOON)
    const hidden = { ...messageFrom(companyId, senderId, 'US.other'), phone: null }
    await recordInbound(db, [hidden], NOON)
    expect([await count('conversations'), await count('contacts')]).toEqual([2, 2])
  })

  test('points the dialled number to the conversation that the customer has already', async () => {
    const { companyId, messageId, send } = await prepareOne()
    const [known] = await prepareSends(db, [send({ customer: '390000000002', phone: '390000000002' })], NOON)
    await completeSends(db, [{ ...completed(companyId, messageId), customer: '390000000002' }], NOON)
    const [next] = await prepareSends(db, [send()], NOON)
    expect(next).toMatchObject({ conversationId: (known as { conversationId: number }).conversationId })
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
