import { describe, expect, test } from 'vitest'
import { ended, hoursAfter, NOON, startBatches } from '../../../test/sends/batch-world.ts'
import { createSender } from '../../../test/world.ts'
import { connect, type Pool } from '../../db/connect.ts'
import { isLockTimeout } from '../../db/pool/failure.ts'
import type { Send } from '../compose-message.ts'
import { type PreparedSend, prepareSends } from './send-batches.ts'

const { db, url, complete, world } = await startBatches()

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
