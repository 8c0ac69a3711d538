import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { expectDown, expectWhole, failureOf, MAX, startCuttable } from '../../test/cuttable-pool.ts'
import { until } from '../../test/parley-process.ts'
import type { Db } from './connect.ts'
import { isDatabaseDown } from './pool/failure.ts'

const { db, cuttable, isWorking, terminate, losses } = await startCuttable()

describe.each(losses)('a connection that %s', (_, lose) => {
  test('while it is idle costs nothing', async () => {
    const { proxy, pool } = await cuttable()
    await Promise.all(Array.from({ length: MAX }, () => pool`select pg_sleep(0.05)`))
    await lose(proxy)
    await until('the connections are closed', () => proxy.openCount() === 0)
    // The events of the pool's sockets come in the next turn.
    await nextTurn()
    await nextTurn()
    await expectWhole(pool)
  })

  test('fails the statement on it, and one that waits gets another', async () => {
    const { proxy, pool } = await cuttable({ max: 1 })
    await pool`select 1`
    const slow = pool`select pg_sleep(60), 'plain loss'`
    const behind = pool`select 2`
    const failed = expectDown(slow)
    await until('it is at work', isWorking('plain loss'))
    await lose(proxy)
    await failed
    expect(await behind).toHaveLength(1)
    await expectWhole(pool)
  })

  test.each([0, 1])('fails its transaction after %i statements', async (count) => {
    const { proxy, pool } = await cuttable({ max: 1 })
    const started = Promise.withResolvers<void>()
    const unlocked = Promise.withResolvers<void>()
    let late: unknown
    const transaction = pool.begin(async (tx) => {
      for (let n = 0; n < count; n += 1) await tx`insert into notes (writer) values ('lost')`
      started.resolve()
      await unlocked.promise
      late = await failureOf(tx`insert into notes (writer) values ('late')`)
    })
    const failed = expectDown(transaction)
    await started.promise
    await lose(proxy)
    await failed
    // The same connection object serves another by now: the dead transaction's statements are not for it.
    await pool.begin(async (tx) => {
      await tx`select 1`
      unlocked.resolve()
      await until('the late one was tried', () => late !== undefined)
      await tx`insert into notes (writer) values ('other')`
    })
    expect(isDatabaseDown(late)).toBe(true)
    expect(await db`delete from notes returning writer`).toEqual([{ writer: 'other' }])
    await expectWhole(pool)
  })

  test('fails its transaction in a statement, in a savepoint too', async () => {
    const { proxy, pool } = await cuttable()
    const plain = pool.begin((tx) => tx`select pg_sleep(60), 'in a statement'`)
    const inner = pool.begin((tx) => tx.savepoint((save) => save`select pg_sleep(60), 'in a savepoint'`))
    const ends = Promise.all([expectDown(plain), expectDown(inner)])
    await until(
      'both are at work',
      async () => (await isWorking('a statement')()) && (await isWorking('a savepoint')()),
    )
    await lose(proxy)
    await ends
    await expectWhole(pool)
  })

  test('fails its transaction in the commit', async () => {
    await db.unsafe(`
      create table slow_commits (id int);
      create function sleep_long() returns trigger language plpgsql as 'begin perform pg_sleep(60); return null; end';
      create constraint trigger slow after insert on slow_commits deferrable initially deferred
      for each row execute function sleep_long();
    `)
    onTestFinished(async () => {
      await db.unsafe('drop table slow_commits; drop function sleep_long')
    })
    const { proxy, pool } = await cuttable()
    const failed = expectDown(pool.begin((tx) => tx`insert into slow_commits values (1)`))
    await until('it commits', isWorking('commit'))
    await lose(proxy)
    await failed
    await terminate()
    expect(await db`select from slow_commits`).toHaveLength(0)
    await expectWhole(pool)
  })
})

test('the server ends what lasts longer than a session allows, and that counts as the database being away', async () => {
  const limits = { statementMs: 200, lockMs: 100, idleInTransactionMs: 150 }
  const { pool } = await cuttable({ max: 1, limits })
  await expectDown(pool`select pg_sleep(60)`)
  await expectDown(pool.begin((tx) => tx`select 1`.then(() => sleep(5_000)).then(() => tx`select 2`)))
  await db.begin(async (tx) => {
    await tx`lock table notes in access exclusive mode`
    await expectDown(pool`select from notes`)
  })
  await expectWhole(pool)
})

test('closing the pool ends a transaction that is still open, and nothing of it is written', async () => {
  const { pool } = await cuttable()
  const written = Promise.withResolvers<void>()
  const late = Promise.withResolvers<unknown>()
  const closed = Promise.withResolvers<void>()
  const failed = expectDown(
    pool.begin(async (tx) => {
      await tx`insert into notes (writer) values ('unfinished')`
      written.resolve()
      await closed.promise
      late.resolve(await failureOf(tx`insert into notes (writer) values ('later')`))
    }),
  )
  await written.promise
  await pool.end({ timeout: 0 })
  closed.resolve()
  await failed
  expect(isDatabaseDown(await late.promise)).toBe(true)
  expect(await db`select from notes`).toHaveLength(0)
})

test('a statement that comes after the end of its transaction is refused', async () => {
  const { pool } = await cuttable({ max: 1 })
  let escaped: Db | undefined
  await pool.begin(async (tx) => {
    escaped = tx
    await tx`select 1`
  })
  expect(String(await failureOf(escaped!`insert into notes (writer) values ('straggler')`))).toContain('has ended')

  const slow = Promise.withResolvers<void>()
  const straggler = Promise.withResolvers<unknown>()
  const failed = pool.begin((tx) =>
    Promise.all([
      tx`select 1 / 0`,
      slow.promise.then(async () => straggler.resolve(await failureOf(tx`insert into notes (writer) values ('x')`))),
    ]),
  )
  expect(String(await failureOf(failed))).toContain('division by zero')
  slow.resolve()
  expect(String(await straggler.promise)).toContain('has ended')
  expect(await db`select from notes`).toHaveLength(0)
})

test('a statement that cannot be sent fails alone: the answers of the others stay theirs', async () => {
  const { pool } = await cuttable({ max: 1 })
  await pool`select ${new Date()}::timestamptz`
  const before = pool`select 'before' as who, pg_sleep(0.1)::text as slept`
  await sleep(20)
  const unsendable = failureOf(pool`select ${new Date(Number.NaN)}::timestamptz`)
  const after = ['x', 'y'].map((who) => pool`select ${who} as who`)
  expect(await before).toEqual([{ who: 'before', slept: '' }])
  expect(await unsendable).toBeInstanceOf(RangeError)
  expect((await Promise.all(after)).flat()).toEqual([{ who: 'x' }, { who: 'y' }])

  expect(await failureOf(pool`select ${new Date(Number.NaN)}::timestamptz`)).toBeInstanceOf(RangeError)
  expect(await pool`select 'alone' as who`).toEqual([{ who: 'alone' }])
  await expectWhole(pool)
})
