import { beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany, createSender, messageTo, NO_CONSEQUENCES } from '../../../test/world.ts'
import { connect, type Pool } from '../../db/connect.ts'
import { fixedClock } from '../../platform/clock.ts'
import type { Send } from '../compose-message.ts'
import { PAIR_BURST } from './decide-sends.ts'
import { createSendBatches, prepareSends } from './send-batches.ts'

let db: Pool
let url: string
beforeAll(async () => {
  ;({ db, url } = await createTestDatabase({ mirrors: true }))
})

const NOON = new Date('2026-11-21T12:00:00Z')
const ONE_AN_AGE = 1_000

async function world() {
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  let customers = 0
  /** To a new customer, unless one is given. */
  const send = (changes: Partial<Send> = {}): Send => {
    customers += 1
    const customer = changes.identity ?? `3933300${String(customers).padStart(5, '0')}`
    return { ...messageTo(companyId, senderId, customer), ...changes }
  }
  const many = (count: number, changes: Partial<Send> = {}) => Array.from({ length: count }, () => send(changes))
  const written = async () => {
    const [row] = await db<{ contacts: number; conversations: number; messages: number; ledger: number }[]>`
      select
        (select count(*)::int from contacts where company_id = ${companyId}) as contacts,
        (select count(*)::int from conversations where company_id = ${companyId}) as conversations,
        (select count(*)::int from messages where company_id = ${companyId}) as messages,
        (select count(*)::int from daily_limit_entries where company_id = ${companyId}) as ledger
    `
    return row!
  }
  return { companyId, senderId, send, many, written }
}

const waits = async (sends: readonly Send[], pool = db) =>
  (await prepareSends(pool, sends, NOON)).map((prepared) => ({
    refusal: prepared.refusal,
    seconds: 'waitSeconds' in prepared ? Math.round(prepared.waitSeconds * 10) / 10 : null,
  }))

describe('the throughput of a sender', () => {
  test('one batch takes slots in its order; a send that would wait longer than 5 s is refused and writes nothing', async () => {
    const { many, written } = await world()
    const results = await waits(many(9, { slotSeconds: 1, dailyLimit: 1_000 }))
    expect(results).toEqual([
      ...[0, 1, 2, 3, 4, 5].map((seconds) => ({ refusal: null, seconds })),
      ...Array(3).fill({ refusal: 'throttle', seconds: 6 }),
    ])
    expect(await written()).toEqual({ contacts: 6, conversations: 6, messages: 6, ledger: 6 })
  })

  test('slots go on where the last batch stopped, and refused ones took none', async () => {
    const { many } = await world()
    await waits(many(9, { slotSeconds: 100 }))
    const [next] = await waits(many(1, { slotSeconds: 100 }))
    expect(next?.refusal).toBe('throttle')
    expect(next?.seconds).toBeGreaterThan(90)
    expect(next?.seconds).toBeLessThanOrEqual(100)
  })

  test('sixty at once from two processes get one slot where there is one', async () => {
    const { many, written } = await world()
    const other = connect(url)
    const sends = many(60, { slotSeconds: ONE_AN_AGE })
    const processes = [db, other].map((pool) => createSendBatches(pool, fixedClock(NOON), NO_CONSEQUENCES))
    const results = await Promise.all(sends.map((one, index) => processes[index % 2]!.prepareSend(one)))
    await other.end()
    expect(results.filter(({ refusal }) => refusal === null)).toMatchObject([{ waitSeconds: 0 }])
    expect((await written()).messages).toBe(1)
  })

  test('holds for one sender alone, and not for a sender without a throttle', async () => {
    const [one, two] = [await world(), await world()]
    await waits(one.many(1, { slotSeconds: ONE_AN_AGE }))
    expect(await waits(two.many(1, { slotSeconds: ONE_AN_AGE }))).toEqual([{ refusal: null, seconds: 0 }])
    expect(await waits(one.many(200))).toEqual(Array(200).fill({ refusal: null, seconds: 0 }))
  })

  test('a send that is refused for other reasons takes no slot', async () => {
    const { many, send } = await world()
    const results = await waits([...many(3, { slotSeconds: 1, needsWindow: true }), send({ slotSeconds: 1 })])
    expect(results.map(({ refusal }) => refusal)).toEqual(['window', 'window', 'window', null])
    expect(results[3]?.seconds).toBe(0)
  })
})

describe('the pair rule', () => {
  const identity = '393339998877'
  const slotSeconds = 0.000_001

  test('one customer gets a burst at once, and then no more at present', async () => {
    const { many, send, written } = await world()
    const results = await waits([...many(PAIR_BURST + 5, { identity, slotSeconds }), send({ slotSeconds })])
    expect(results.slice(0, PAIR_BURST)).toEqual(Array(PAIR_BURST).fill({ refusal: null, seconds: 0 }))
    expect(results.slice(PAIR_BURST, PAIR_BURST + 5).map(({ refusal, seconds }) => [refusal, seconds])).toEqual(
      Array(5).fill(['throttle', 6]),
    )
    expect(results[PAIR_BURST + 5]).toEqual({ refusal: null, seconds: 0 })
    expect((await written()).messages).toBe(PAIR_BURST + 1)
  })

  test('then one each 6 s, waited for when it comes within 5 s', async () => {
    const { companyId, many, send } = await world()
    await waits(many(PAIR_BURST, { identity, slotSeconds }))
    const pass = (seconds: number) => db`
      update conversations
      set next_message_at = next_message_at - make_interval(secs => ${seconds})
      where company_id = ${companyId}
    `
    await pass(3)
    const [third] = await waits([send({ identity, slotSeconds })])
    expect(third?.refusal).toBeNull()
    expect(third?.seconds).toBeGreaterThan(0)
    expect(third?.seconds).toBeLessThanOrEqual(3)
    expect((await waits([send({ identity, slotSeconds })]))[0]?.refusal).toBe('throttle')
    await pass(12)
    expect((await waits(many(3, { identity, slotSeconds }))).map(({ refusal }) => refusal)).toEqual([
      null,
      null,
      'throttle',
    ])
  })

  test('holds for two processes that write to one customer at once', async () => {
    const { many, written } = await world()
    const other = connect(url)
    const sends = many(60, { identity, slotSeconds })
    const processes = [db, other].map((pool) => createSendBatches(pool, fixedClock(NOON), NO_CONSEQUENCES))
    await Promise.all(sends.map((one, index) => processes[index % 2]!.prepareSend(one)))
    await other.end()
    const { messages } = await written()
    expect(messages).toBeGreaterThanOrEqual(PAIR_BURST)
    // One more each 6 s, should this machine be that slow. Two bursts would be all of them.
    expect(messages).toBeLessThan(sends.length)
  })
})
