import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { isAlone, onBehalfOf, runWithPauses } from '../../db/pool/fair-pool.ts'
import { createFairPace } from '../../fair/fair-pace.ts'
import { ARRAYS_WAITING_MAX, ROWS_ALONE, ROWS_PER_SECOND, ROWS_PER_TURN, waitForRows } from './contact-change.ts'
import { upsertContacts } from './contact-upsert.ts'

const { db } = await createTestDatabase()
const call = (companyId: number) => onBehalfOf({ companyId, isHeavy: false, isAwaited: () => true }, () => {})

test('companies with large work take turns of equal size', () => {
  let now = 0
  const pace = createFairPace<string>({ perSecond: 1_000, burst: 250 }, () => now)
  const order: string[] = []
  const ask = (owner: string) => {
    const turn = { owner, cost: 250, onTurn: () => order.push(owner) }
    if (pace.take(turn)) order.push(owner)
    return turn
  }
  const turns = ['a', 'a', 'a', 'a', 'b', 'b'].map(ask)
  expect([order, pace.waitingOf('a'), pace.waitingOf('b')]).toEqual([['a'], 3, 2])
  pace.leave(turns[5] ?? expect.fail('no turn'))
  expect(pace.waitingOf('b')).toBe(1)
  // Later arrivals must not overtake.
  now += 1_000
  ask('c')
  expect(order).toEqual(['a'])
})

test('a company that works alone waits for nothing; beside others arrays and rows of an import share one pace', async () => {
  call(101)
  await expect.poll(() => isAlone(101)).toBe(true)
  // A wait would throw the signal's reason.
  await waitForRows(db, 101, 10 * ROWS_PER_SECOND, { signal: AbortSignal.abort(new Error('waited')) })
  call(102)
  await expect(waitForRows(db, 101, 1, { signal: AbortSignal.abort(new Error('waited')) })).rejects.toThrow('waited')
  const order: string[] = []
  const rows = async (name: string, companyId: number, count: number, signal?: AbortSignal) => {
    await waitForRows(db, companyId, count, signal && { signal })
    order.push(name)
  }
  await Promise.all([
    rows('array', 101, 4 * ROWS_PER_TURN),
    rows('import', 102, 4 * ROWS_PER_TURN, new AbortController().signal),
    rows('short', 103, 1),
  ])
  expect(order[0]).toBe('short')
})

test('too many waiting arrays of a company are 503 with Retry-After; an import that ends waits no longer', async () => {
  call(201)
  call(202)
  const ended = new AbortController()
  const busy = Array.from({ length: ARRAYS_WAITING_MAX + 2 }, () => waitForRows(db, 201, ROWS_PER_TURN, ended))
  await expect(waitForRows(db, 201, 26)).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
  const other = waitForRows(db, 202, 26)
  ended.abort(new Error('ended'))
  const outcomes = await Promise.allSettled(busy)
  expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(ARRAYS_WAITING_MAX - 2)
  await other
})

test('an array is written in small statements only while other companies call', async () => {
  const statementsOf = async (neighbours: number[]) => {
    const [company] = await db<{ id: number }[]>`insert into companies (name) values ('Ada') returning id`
    const { id = 0 } = company ?? {}
    for (const one of [...neighbours, id]) call(one)
    await expect.poll(() => isAlone(id), { timeout: 10_000 }).toBe(neighbours.length === 0)
    const writes = Array.from({ length: ROWS_ALONE }, (_, n) => ({ email: `ada${n}@example.com` }))
    await upsertContacts(db, id, writes, { clientId: null, source: 'api' }, { isArray: true })
    // Rows of one statement have one time.
    return db`select created_at from contacts where company_id = ${id} group by created_at`
  }
  expect(await statementsOf([])).toHaveLength(1)
  expect(await statementsOf([301])).toHaveLength(ROWS_ALONE / ROWS_PER_TURN)
})

test('pauses between the statements of a large write while other companies call', async () => {
  const startsOf = async (companyId: number): Promise<number[]> => {
    const starts: number[] = []
    const run = async () => {
      starts.push(performance.now())
      await sleep(20)
    }
    await runWithPauses(companyId, [run, run])
    return starts
  }
  call(401)
  call(402)
  const [first = 0, second = 0] = await startsOf(401)
  // Timers may end a millisecond early.
  expect(second - first).toBeGreaterThan(3 * 20 - 3)
})
