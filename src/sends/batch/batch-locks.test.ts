import { describe, expect, test } from 'vitest'
import { untilBlocked } from '../../../test/held-locks.ts'
import { countRiskyLocks } from '../../../test/locking-plans.ts'
import { completed, ended, NOON, startBatches } from '../../../test/sends/batch-world.ts'
import { NO_CONSEQUENCES, statusRecord } from '../../../test/world.ts'
import { makeMessageMonth } from '../../conversations/message-expiry-store.ts'
import { IDS_A_MONTH, monthOf } from '../../conversations/message-store.ts'
import { recordStatuses, watchStatuses } from '../../conversations/recording/status-store.ts'
import { pinPlans } from '../../db/connect.ts'
import { lockCustomers } from '../../people/customer-store.ts'
import { fixedClock } from '../../platform/clock.ts'
import { createSendBatches, prepareSends } from './send-batches.ts'
import { completeSends } from './send-write-store.ts'

const { db, url, world } = await startBatches()

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
