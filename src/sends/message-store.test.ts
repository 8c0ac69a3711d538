import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { untilBlocked } from '../../test/held-locks.ts'
import { countRiskyLocks } from '../../test/locking-plans.ts'
import { writeUnmirrored } from '../../test/run/mirrors.ts'
import {
  createCompany,
  createSender,
  messageFrom,
  messageTo,
  NO_CONSEQUENCES,
  record,
  statusRecord,
} from '../../test/world.ts'
import { NO_EVENTS } from '../changes/record-change.ts'
import { IDS_A_MONTH, monthOf } from '../conversations/message-month.ts'
import { makeMessageMonth } from '../conversations/message-month-store.ts'
import { recordStatuses, watchStatuses } from '../conversations/recording/status-store.ts'
import { connect, type Pool } from '../db/connect.ts'
import { pinPlans } from '../db/pin-plans.ts'
import { isLockTimeout } from '../db/pool/failure.ts'
import { type KeyedRequest, releaseKey, reserveKey } from '../http/idempotency/idempotency-store.ts'
import { recordAnswers } from '../inbound/handling/batch/record-answers.ts'
import { lockCustomers } from '../people/customer-lock-store.ts'
import { fixedClock } from '../platform/clock.ts'
import { type CompletedSend, completeSends } from './batch/complete-store.ts'
import type { Send } from './batch/decide-sends.ts'
import { type PreparedSend, prepareSends } from './batch/prepare-sends.ts'
import { createSendBatches } from './batch/send-batches.ts'
import { completeAbandoned } from './message-store.ts'

let db: Pool
let url: string
beforeAll(async () => {
  ;({ db, url } = await createTestDatabase({ mirrors: true }))
})

const NOON = new Date('2026-11-21T12:00:00Z')
const hoursAfter = (hours: number) => new Date(NOON.getTime() + hours * 3_600_000)

/** Completes sends as their batch does. */
async function complete(...sends: CompletedSend[]): Promise<void> {
  await db.begin((tx) => completeSends(tx, sends, NOON))
  const recipients = sends.flatMap(({ recipient }) => (recipient === null ? [] : [recipient]))
  await recordAnswers({ db, recordEvents: NO_EVENTS }, recipients, 'service', NOON)
}

/** A send that the provider accepted. */
const completed = (companyId: number, messageId: number): CompletedSend => ({
  companyId,
  messageId,
  status: 'sent',
  wamid: `wamid.${companyId}.${messageId}`,
  providerMessageId: null,
  recipient: null,
  error: null,
  isLimited: false,
  reaction: null,
  hasProviderMedia: false,
  idempotencyId: null,
  scheduledId: null,
  answer: null,
})

/** A send that counted in a daily limit and did not reach the customer, or may not have. */
const ended = (companyId: number, messageId: number, status: 'failed' | 'unknown' = 'failed'): CompletedSend => ({
  ...completed(companyId, messageId),
  status,
  wamid: null,
  isLimited: true,
})

async function world() {
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const send = (changes: Partial<Send> = {}): Send => ({
    ...messageTo(companyId, senderId, '393331234567'),
    ...changes,
  })
  const count = async (table: string) => {
    const [row] = await db<{ n: number }[]>`select count(*)::int as n from ${db(table)} where company_id = ${companyId}`
    return row!.n
  }
  return { companyId, senderId, send, count }
}

describe('a batch that waits for one of its messages, which another transaction changes', () => {
  /** Three messages that are being sent, one of them since last month; the work waits for a change of the first one. */
  async function changeMeanwhile(work: (companyId: number, ids: readonly number[]) => Promise<unknown>) {
    // The first is a month that statements about recent messages leave out: see isRecent.
    for (const back of [12, 1]) await makeMessageMonth(db, monthOf(new Date()) - back)
    const { companyId, send } = await world()
    const sends = ['393331000001', '393331000002', '393331000003'].map((one) => send({ identity: one, phone: one }))
    const prepared = (await prepareSends(db, sends, NOON)).flatMap((one) => ('messageId' in one ? [one.messageId] : []))
    const [moved] = await db<[{ id: number }]>`
      update messages set id = id - ${IDS_A_MONTH}::bigint where (company_id, id) = (${companyId}, ${prepared.pop()!})
      returning id
    `
    const ids = [...prepared, moved.id]
    const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const change = db.begin(async (tx) => {
      await tx`update messages set sender_name = 'Ada' where company_id = ${companyId} and id = ${ids[0]!}`
      locked.resolve()
      await released.promise
    })
    await locked.promise
    const working = work(companyId, ids)
    await untilBlocked(db)
    released.resolve()
    await Promise.all([change, working])
    const rows = await db<{ status: string }[]>`select status from messages where company_id = ${companyId} order by id`
    return rows.map(({ status }) => status)
  }

  test('writes the outcomes of all', async () => {
    const statuses = await changeMeanwhile((companyId, ids) =>
      db.begin(async (tx) => {
        await pinPlans(tx, 60_000)
        const sends = ids.map((id) => completed(companyId, id))
        await completeSends(tx, sends, NOON)
      }),
    )
    expect(statuses).toEqual(['sent', 'sent', 'sent'])
  })

  test('writes the statuses of all', async () => {
    const statuses = await changeMeanwhile(async (companyId, ids) => {
      const [row] = await db<
        [{ senderId: number }]
      >`select id as sender_id from senders where company_id = ${companyId}`
      const records = ids.map((messageId) =>
        statusRecord({
          ...{ companyId, senderId: row.senderId, messageId, wamid: `wamid.${messageId}` },
          ...{ status: 'delivered', occurredAt: NOON },
        }),
      )
      await db.begin(async (tx) => {
        await pinPlans(tx, 60_000)
        await recordStatuses(tx, records, NOON)
      })
    })
    expect(statuses).toEqual(['delivered', 'delivered', 'delivered'])
  })

  test('watches the statuses of all', async () => {
    let watched: string[] = []
    const work = (companyId: number, ids: readonly number[]) =>
      db.begin(async (tx) => {
        await pinPlans(tx, 60_000)
        const changes = await watchStatuses(
          tx,
          ids.map((messageId) => ({ companyId, messageId })),
        )
        watched = (await changes()).map((one) => ('before' in one ? one.before : one.event))
      })
    await changeMeanwhile(work)
    expect(watched).toEqual(['pending', 'pending', 'pending'])
  })
})

describe('no statement locks rows and looks up partitions by values of other rows', () => {
  async function pendingSends() {
    const { companyId, senderId, send } = await world()
    const prepared = await prepareSends(db, [send(), send({ identity: '393331234568', phone: '393331234568' })], NOON)
    const ids = prepared.flatMap((one) => ('messageId' in one ? [one.messageId] : []))
    expect(ids).toHaveLength(2)
    return { companyId, senderId, ids }
  }

  test('of outcomes, statuses and what is watched', async () => {
    const { companyId, senderId, ids } = await pendingSends()
    const [first, second] = ids as [number, number]
    const risky = await countRiskyLocks(url, (watched) =>
      watched.begin(async (tx) => {
        const changes = await watchStatuses(
          tx,
          ids.map((messageId) => ({ companyId, messageId })),
        )
        await completeSends(tx, [completed(companyId, first), ended(companyId, second)], NOON)
        expect((await changes()).map((one) => ('after' in one ? one.after : one.event))).toEqual(['sent', 'failed'])
        const wamid = `wamid.${companyId}.${first}`
        const status = statusRecord({ companyId, senderId, messageId: first, wamid, status: 'delivered' })
        expect((await recordStatuses(tx, [status], NOON)).moved).toHaveLength(1)
      }),
    )
    expect(risky).toBe(0)
  })

  test('and one that does is found', async () => {
    const { companyId, ids } = await pendingSends()
    const risky = await countRiskyLocks(
      url,
      (watched) => watched`
        select one.id
        from unnest(${ids}::bigint[]) as input (id)
        cross join lateral (
          select message.id from messages message
          where (message.company_id, message.id) = (${companyId}, input.id)
          for update
        ) as one
      `,
    )
    expect(risky).toBe(1)
  })
})

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

describe('a customer that another transaction has locked', () => {
  test('is left out of its batch; the sends of all others go on', async () => {
    const one = await world()
    const two = await world()
    const { prepareSend } = createSendBatches(db, fixedClock(NOON), NO_CONSEQUENCES)
    const free = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holder = db.begin(async (tx) => {
      await lockCustomers(tx, [{ companyId: one.companyId, identity: '393331234567' }])
      locked.resolve()
      await free.promise
    })
    await locked.promise
    const held = prepareSend(one.send())
    const others = [
      one.send({ identity: '391', phone: '391' }),
      two.send(),
      two.send({ identity: '392', phone: '392' }),
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
    const { prepareSend } = createSendBatches(db, fixedClock(NOON), NO_CONSEQUENCES)
    await db.begin(async (tx) => {
      await lockCustomers(tx, [{ companyId, identity: '393331234567' }])
      expect(await prepareSend(send())).toEqual({ refusal: 'busy' })
    })
    expect(await count('messages')).toBe(0)
  })

  test('and a row that another session holds delays other companies by a second at most', async () => {
    const one = await world()
    const two = await world()
    const { prepareSend } = createSendBatches(db, fixedClock(NOON), NO_CONSEQUENCES)
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
  const keyOf = (companyId: number): KeyedRequest => {
    const request = { companyId, clientId: 'c', method: 'POST', path: '/send' }
    return { ...request, key: randomUUID(), digest: Buffer.alloc(32) }
  }
  const prepareOne = async (send: Send) => {
    const [prepared] = await prepareSends(db, [send], NOON)
    if (prepared?.refusal !== null) throw new Error('refused')
    return prepared
  }

  test('that another request has, before or in the same batch, sends nothing', async () => {
    const { companyId, send, count } = await world()
    const [key, other] = [keyOf(companyId), keyOf(companyId)]
    await prepareOne(send({ key }))
    const prepared = await prepareSends(db, [send({ key }), send({ key: other }), send({ key: other }), send()], NOON)
    expect(prepared.map(({ refusal }) => refusal)).toEqual(['key', null, 'key', null])
    expect(await count('messages')).toBe(3)
  })

  test('of a send that is refused stays free', async () => {
    const { companyId, send, count } = await world()
    const key = keyOf(companyId)
    const prepared = await prepareSends(db, [send({ key, needsWindow: true }), send({ key })], NOON)
    expect(prepared.map(({ refusal }) => refusal)).toEqual(['window', null])
    expect(await count('idempotency_keys')).toBe(1)
  })

  test('that two processes get at once sends one message', async () => {
    const { companyId, send, count } = await world()
    const other = connect(url)
    const processes = [db, other].map((pool) => createSendBatches(pool, fixedClock(NOON), NO_CONSEQUENCES))
    const keys = Array.from({ length: 20 }, () => keyOf(companyId))
    const customers = keys.map((_, index) => `39${index}`)
    const prepared = await Promise.all(
      processes.flatMap(({ prepareSend }, process) =>
        // Other customers: their locks do not order the two.
        keys.map((key, index) => prepareSend(send({ key, identity: `${customers[index]}${process}`, phone: null }))),
      ),
    )
    await other.end()
    expect(prepared.map(({ refusal }) => refusal).sort()).toEqual([...keys.map(() => 'key'), ...keys.map(() => null)])
    expect(await count('messages')).toBe(keys.length)
  })

  test('that another process reserves while the batch is written sends nothing', async () => {
    const { companyId, send, count } = await world()
    const { prepareSend } = createSendBatches(db, fixedClock(NOON), NO_CONSEQUENCES)
    const key = keyOf(companyId)
    const prepared = await db.begin(async (tx) => {
      await reserveKey(tx, key)
      const waiting = prepareSend(send({ key }))
      await expect.poll(async () => (await db`select from pg_locks where not granted`).length).toBe(1)
      return { waiting }
    })
    expect(await prepared.waiting).toEqual({ refusal: 'key' })
    expect(await count('messages')).toBe(0)
  })

  test('is released when nothing was sent, and only then', async () => {
    const { companyId, send } = await world()
    const key = keyOf(companyId)
    const { messageId, idempotencyId } = await prepareOne(send({ key }))
    await releaseKey(db, companyId, idempotencyId ?? 0)
    expect(await reserveKey(db, key)).toEqual({ state: 'running' })
    const failed = { ...ended(companyId, messageId), isLimited: false, idempotencyId }
    await complete({ ...failed, status: 'unknown', answer: { status: 503, body: '{}' } })
    await complete(failed)
    expect(await reserveKey(db, key)).toMatchObject({ state: 'answered', status: 503 })

    const second = keyOf(companyId)
    await complete({ ...failed, ...(await prepareOne(send({ key: second }))) })
    expect(await reserveKey(db, second)).toMatchObject({ state: 'reserved' })
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
  await db`
    insert into consents (company_id, channel, identity, value, said_at, source)
    values (${companyId}, 'whatsapp', '393331234567', false, ${NOON}, 'test')
  `
  expect(await prepareSends(db, [send({ needsConsent: true })], NOON)).toEqual([{ refusal: 'consent' }])
  expect((await prepareSends(db, [send()], NOON))[0]).toMatchObject({ refusal: null })
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

describe('the daily limit', () => {
  const to = (customer: string) => ({ identity: customer, phone: customer, dailyLimit: 2 })

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
    /** A lock that others hold for long on a busy machine is waited for again, as the service does. */
    const prepare = async (pool: Pool, one: Send): Promise<PreparedSend[]> => {
      try {
        return await prepareSends(pool, [one], NOON)
      } catch (error) {
        if (!isLockTimeout(error)) throw error
        return prepare(pool, one)
      }
    }
    const prepared = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        prepare(index % 2 ? db : other, send({ identity: `39${100 + index}`, dailyLimit: 7 })),
      ),
    )
    await other.end()
    expect(prepared.flat().filter(({ refusal }) => refusal === null)).toHaveLength(7)
  })

  test('counts customers whom a message reached or may have reached: a refused one gives its place back', async () => {
    const { companyId, send } = await world()
    const [first, second] = await prepareSends(db, [send(to('391')), send(to('392'))], NOON)
    if (first?.refusal !== null || second?.refusal !== null) throw new Error('refused')
    expect(await prepareSends(db, [send(to('393'))], NOON)).toMatchObject([{ refusal: 'limit' }])
    await complete(ended(companyId, first.messageId))
    await complete(ended(companyId, second.messageId, 'unknown'))
    expect(await prepareSends(db, [send(to('393')), send(to('394'))], NOON)).toMatchObject([
      { refusal: null },
      { refusal: 'limit' },
    ])
  })

  test('keeps the place of a customer whom another message may have reached', async () => {
    const { companyId, send } = await world()
    const [first, again] = await prepareSends(db, [send(to('391')), send(to('391'))], NOON)
    if (first?.refusal !== null || again?.refusal !== null) throw new Error('refused')
    const used = async () => (await db`select used from daily_limits where company_id = ${companyId}`)[0]?.used
    await complete(ended(companyId, first.messageId))
    expect(await used()).toBe(1)
    await complete(ended(companyId, again.messageId))
    expect(await used()).toBe(0)
  })

  test('is one of all numbers of a portfolio', async () => {
    const { companyId, send } = await world()
    const other = await createSender(db, companyId)
    const shared = { dailyLimit: 1, limitScope: 'portfolio:P1' }
    const prepared = await prepareSends(
      db,
      [send({ ...to('391'), ...shared }), send({ ...to('392'), ...shared, senderId: other })],
      NOON,
    )
    expect(prepared).toMatchObject([{ refusal: null }, { refusal: 'limit' }])
  })

  test('counts a customer to whom two numbers of a portfolio write at once one time', async () => {
    const { companyId, send } = await world()
    const other = await createSender(db, companyId)
    const shared = { ...to('391'), dailyLimit: 1, limitScope: 'portfolio:P1' }
    const prepared = await prepareSends(db, [send(shared), send({ ...shared, senderId: other })], NOON)
    expect(prepared).toMatchObject([{ refusal: null }, { refusal: null }])
    expect(await db`select scope, used from daily_limits where company_id = ${companyId}`).toEqual([
      { scope: 'portfolio:P1', used: 1 },
    ])
  })

  test('keeps the place of a customer to whom another number of the portfolio may have written', async () => {
    const { companyId, send } = await world()
    const other = await createSender(db, companyId)
    await db`update senders set portfolio_id = 'P1' where company_id = ${companyId}`
    const shared = { ...to('391'), limitScope: 'portfolio:P1' }
    const [refused] = await prepareSends(db, [send(shared), send({ ...shared, senderId: other })], NOON)
    if (refused?.refusal !== null) throw new Error('refused')
    await complete(ended(companyId, refused.messageId))
    expect(await db`select used from daily_limits where company_id = ${companyId}`).toEqual([{ used: 1 }])
  })

  test('gives the place of a refused send back, though a number with another limit wrote to the customer', async () => {
    const { companyId, send } = await world()
    const other = await createSender(db, companyId)
    const [refused] = await prepareSends(
      db,
      [send(to('391')), send({ ...to('391'), senderId: other, limitScope: `sender:${other}` })],
      NOON,
    )
    if (refused?.refusal !== null) throw new Error('refused')
    await complete(ended(companyId, refused.messageId))
    const rows = await db<
      { used: number }[]
    >`select used from daily_limits where company_id = ${companyId} order by scope`
    expect(rows.map(({ used }) => used)).toEqual([0, 1])
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
