import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ended, NOON, startBatches } from '../../../test/sends/batch-world.ts'
import { NO_CONSEQUENCES } from '../../../test/world.ts'
import { connect } from '../../db/connect.ts'
import { type KeyedRequest, releaseKey, reserveKey } from '../../http/idempotency/idempotency-store.ts'
import { fixedClock } from '../../platform/clock.ts'
import type { Send } from '../compose-message.ts'
import { createSendBatches, prepareSends } from './send-batches.ts'

const { db, url, complete, world } = await startBatches()

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
