import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { holdOpen } from '../../../test/held-locks.ts'
import { companyMoving } from '../../platform/errors.ts'
import { sql } from '../connect.ts'
import { createCompanySlots, onBehalfOf, type SlotLimits, type SlotRequest, shareFairly } from './fair-pool.ts'

const { db: pool } = await createTestDatabase()
await pool`create table work (company_id integer not null, at timestamptz not null default clock_timestamp())`

const make = (limits: Partial<SlotLimits> = {}) => {
  const db = shareFairly(
    pool,
    createCompanySlots({ slots: 9, maxWaiting: 900, maxWaitMs: 20_000, maxHeavyWaitMs: 20_000, ...limits }),
  )
  const as = (companyId: number, request: Partial<SlotRequest> = {}) => {
    const caller = { companyId, isHeavy: false, isAwaited: () => true, ...request }
    return {
      sleep: (seconds: number) =>
        onBehalfOf(caller, async () => db`select pg_sleep(${seconds}), ${`company ${companyId}`}::text`),
      /** A statement that runs until the gate is opened. */
      wait: () => onBehalfOf(caller, async () => db`select pg_advisory_xact_lock_shared(4711)`),
      work: () => onBehalfOf(caller, async () => db`insert into work (company_id) values (${companyId})`),
      begin: () =>
        onBehalfOf(caller, () => db.begin(async (tx) => tx`insert into work (company_id) values (${companyId})`)),
    }
  }
  return { db, as }
}

/** Closes the gate; returns what opens it. */
const closeGate = () => holdOpen(pool, 'select pg_advisory_xact_lock(4711)')

/** Statements that run now and wait for the gate. */
const running = async (): Promise<number> => {
  const [row] = await pool<{ n: number }[]>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%lock_shared%'`
  return row?.n ?? 0
}

test('a company alone leaves a third free, and one with heavy work takes no more than a third', async () => {
  const { as } = make()
  const openForLight = await closeGate()
  const light = Array.from({ length: 30 }, () => as(1).wait())
  await expect.poll(running).toBe(6)
  await openForLight()
  await Promise.all(light)
  const openForHeavy = await closeGate()
  const heavy = Array.from({ length: 9 }, () => as(1, { isHeavy: true }).wait())
  await expect.poll(running).toBe(3)
  await openForHeavy()
  await Promise.all(heavy)
})

test('a company that is not alone has a third of the pool at most, whether or not the others wait', async () => {
  const { as } = make()
  // Five seconds later, the company would be alone.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  onTestFinished(() => clock.mockRestore())
  await as(2).work()
  const openGate = await closeGate()
  const flood = Array.from({ length: 9 }, () => as(1).wait())
  await expect.poll(running).toBe(3)
  await openGate()
  await Promise.all(flood)
})

test('a company that floods the pool does not delay another', async () => {
  const { as } = make()
  const openGate = await closeGate()
  const flood = Array.from({ length: 60 }, () => as(1).wait())
  await expect.poll(running).toBe(6)
  for (let n = 0; n < 20; n += 1) await Promise.all([as(2).work(), as(2).begin()])
  expect(await running()).toBe(6)
  await openGate()
  await Promise.all(flood)
})

test('companies that wait are served in turn, and a flood has a third of the pool at most while others wait', async () => {
  const { as } = make()
  const order: number[] = []
  const flood = (companyId: number) =>
    Array.from({ length: 12 }, () =>
      as(companyId)
        .sleep(0.2)
        .then(() => order.push(companyId)),
    )
  const all = [1, 2, 3].flatMap(flood)
  await Promise.all(all)
  const firstHalf = order.slice(0, 18)
  for (const companyId of [1, 2, 3]) expect(firstHalf.filter((one) => one === companyId).length).toBeLessThan(13)
  for (const companyId of [1, 2, 3]) expect(firstHalf.filter((one) => one === companyId).length).toBeGreaterThan(2)
})

test('a statement that waits too long, or behind too many, is refused with 503 and never runs', async () => {
  const busy = { status: 503, headers: { 'retry-after': '1' } }
  const { as } = make({ maxWaitMs: 400 })
  const openGate = await closeGate()
  const held = Array.from({ length: 6 }, () => as(1).wait())
  await expect.poll(running).toBe(6)
  const waiting = Array.from({ length: 9 }, () => as(1).work())
  const heavy = as(1, { isHeavy: true }).sleep(0)
  const outcomes = await Promise.allSettled(waiting)
  expect(outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason : undefined))).toEqual(
    outcomes.map(() => expect.objectContaining(busy)),
  )
  await openGate()
  await Promise.all([...held, heavy])
  expect(await pool`select from work where company_id = 1`).toHaveLength(0)

  const narrow = make({ maxWaiting: 30 })
  const openAgain = await closeGate()
  const many = Promise.allSettled(Array.from({ length: 20 }, () => narrow.as(1).wait()))
  await expect.poll(running).toBe(6)
  await openAgain()
  expect((await many).filter(({ status }) => status === 'rejected')).toHaveLength(4)
})

test('work whose caller has gone is dropped when its slot is free', async () => {
  const { as } = make()
  const openGate = await closeGate()
  const held = Array.from({ length: 6 }, () => as(7).wait())
  await expect.poll(running).toBe(6)
  const dropped = as(7, { isAwaited: () => false }).work()
  const kept = as(7).work()
  const isDropped = expect(dropped).rejects.toMatchObject({ status: 503 })
  await openGate()
  await isDropped
  await Promise.all([...held, kept])
  expect(await pool`select from work where company_id = 7`).toHaveLength(1)
})

test('fragments take no slot, and work of no company waits for none', async () => {
  const { db, as } = make()
  const openGate = await closeGate()
  const held = Array.from({ length: 6 }, () => as(8).wait())
  const ofCompany = onBehalfOf({ companyId: 9, isHeavy: false, isAwaited: () => true }, async () => {
    const columns = sql`company_id, at`
    await pause(1)
    return db`select ${columns} from work where company_id = ${9}`
  })
  expect(await ofCompany).toEqual([])
  expect(await db`select 1 as one`).toEqual([{ one: 1 }])
  expect(await db.unsafe('select 1 as one')).toEqual([{ one: 1 }])
  await openGate()
  await Promise.all(held)
})

test('a failed statement or transaction gives its slot back', async () => {
  const { db, as } = make()
  const caller = { companyId: 5, isHeavy: true, isAwaited: () => true }
  for (let n = 0; n < 12; n += 1) {
    await expect(onBehalfOf(caller, async () => db`select 1 / 0`)).rejects.toMatchObject({ code: '22012' })
    await expect(onBehalfOf(caller, () => db.begin((tx) => tx`select 1 / 0`))).rejects.toMatchObject({ code: '22012' })
  }
  await as(5).work()
  expect(await pool`select from work where company_id = 5`).toHaveLength(1)
})

test('every statement and transaction asks whether its company is unlocked, and none of a locked company runs', async () => {
  const locked = new Set<number>()
  const asked: number[] = []
  const requireUnlocked = async (companyId: number) => {
    asked.push(companyId)
    if (locked.has(companyId)) throw companyMoving()
  }
  const limits = { slots: 3, maxWaiting: 900, maxWaitMs: 20_000, maxHeavyWaitMs: 20_000 }
  const db = shareFairly(pool, createCompanySlots(limits), requireUnlocked)
  const insert = 'insert into work (company_id) values ($1)'
  const outcome = await onBehalfOf({ companyId: 20, isHeavy: false, isAwaited: () => true }, async () => {
    await db`insert into work (company_id) values (20)`
    locked.add(20)
    // More than there are slots: each that is refused gives its slot back.
    const starts = Array.from({ length: 4 }, () => [
      db`insert into work (company_id) values (20)`,
      db.unsafe(insert, [20]),
      db.begin((tx) => tx`insert into work (company_id) values (20)`),
    ])
    return Promise.allSettled(starts.flat())
  })
  expect(outcome).toEqual(outcome.map(() => ({ status: 'rejected', reason: expect.objectContaining({ status: 503 }) })))
  expect(asked).toEqual(Array.from({ length: 13 }, () => 20))
  await onBehalfOf({ companyId: 21, isHeavy: false, isAwaited: () => true }, async () => {
    await db.begin(async (tx) => {
      await tx`insert into work (company_id) values (21)`
      // It ends what it began: an export waits for its end.
      locked.add(21)
      await tx`insert into work (company_id) values (21)`
    })
  })
  await db`insert into work (company_id) values (22)`
  const rows = await pool<
    { companyId: number }[]
  >`select company_id from work where company_id between 20 and 22 order by 1`
  expect(rows.map(({ companyId }) => companyId)).toEqual([20, 21, 21, 22])
  expect(asked).toHaveLength(14)
})

test('held slots count for their company alone, and its next statement waits until one is given back', async () => {
  const slots = createCompanySlots({ slots: 9, maxWaiting: 900, maxWaitMs: 20_000, maxHeavyWaitMs: 20_000 })
  const done: number[] = []
  const run = (companyId: number) =>
    slots.run({ companyId, isHeavy: false, isAwaited: () => true }, async () => void done.push(companyId))
  await run(2)
  const [release, ...others] = [1, 2, 3].map(() => slots.hold(1))
  const waiting = run(1)
  await Promise.all([run(2), run(3)])
  expect(done).toEqual([2, 2, 3])
  release?.()
  await waiting
  expect(done).toEqual([2, 2, 3, 1])
  for (const end of others) end()
})
