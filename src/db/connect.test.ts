import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Cut, startCutProxy } from '../../test/cut-proxy.ts'
import { createTestDatabase } from '../../test/database.ts'
import { freePort } from '../../test/free-port.ts'
import { until } from '../../test/parley-process.ts'
import { type ConnectOptions, connect, type Db, type Pool } from './connect.ts'
import { isDatabaseDown } from './pool/failure.ts'

// The expectations of the service for its connections (docs/decisions/0014-pg-below-a-pool-of-our-own.md). An error that is thrown outside
// of every statement fails the run by itself.

const MAX = 3
const { db, url } = await createTestDatabase()
await db`create table notes (writer text not null, xid xid8 not null default pg_current_xact_id())`

/** A pool whose way to the server can be cut; it has to be whole again, and to close by itself, when the test ends. */
async function cuttable(options: ConnectOptions = {}) {
  const proxy = await startCutProxy(url)
  const pool = connect(proxy.url, { max: MAX, ...options })
  onTestFinished(() => pool.end({ timeout: 0 }))
  return { proxy, pool }
}

async function expectWhole(pool: Pool): Promise<void> {
  const pids = new Set<number>()
  // As many at once as there are connections, each of which has to answer for itself.
  const holders = Array.from({ length: pool.options.max }, () =>
    pool.begin(async (tx) => {
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
      pids.add(row!.pid)
      await until('all connections are in use', () => pids.size === pool.options.max)
    }),
  )
  await Promise.all(holders)
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  await pool.end()
}

const failureOf = (work: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(work).then(
    (result) => expect.fail(`succeeded: ${JSON.stringify(result)}`),
    (error: unknown) => error,
  )

async function expectDown(work: PromiseLike<unknown>): Promise<void> {
  const error = await failureOf(work)
  expect(isDatabaseDown(error), String(error)).toBe(true)
}

const isWorking = (marker: string) => async () =>
  (
    await db`select from pg_stat_activity where state = 'active' and query like ${`%${marker}%`} and pid <> pg_backend_pid()`
  ).length > 0

/** Ends the connections of the pool's backends: the server says 57P01 and hangs up. */
const terminate = () => db`
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name like 'parley %' and client_port is not null
    and query not like '%pg_stat_activity%'
`

const losses: [string, (proxy: { cut(how: Cut): void }) => unknown][] = [
  ['is closed', (proxy) => proxy.cut('fin')],
  ['is reset', (proxy) => proxy.cut('rst')],
  ['is terminated by the server', terminate],
]

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

  test('fails every statement on it, those that wait behind another too', async () => {
    const { proxy, pool } = await cuttable({ max: 1 })
    await pool`select 1`
    const slow = pool`select pg_sleep(60), 'plain loss'`
    const behind = pool`select 2`
    const ends = Promise.all([expectDown(slow), expectDown(behind)])
    await until('it is at work', isWorking('plain loss'))
    await lose(proxy)
    await ends
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

describe('a server that cannot be reached', () => {
  test('fails the work that waits, and its return is noticed', async () => {
    const { proxy, pool } = await cuttable()
    await pool`select 1`
    proxy.become('refused')
    proxy.cut('rst')
    await Promise.all(Array.from({ length: 20 }, () => expectDown(pool`select 1`)))
    proxy.become('open')
    await expectWhole(pool)
  })

  test('fails the statement that waits when it hangs up while the connection is set up', async () => {
    const { proxy, pool } = await cuttable({ max: 1 })
    for (const bytes of [0, 20, 300]) {
      proxy.cutAfter(bytes)
      await expectDown(pool`select 1`)
    }
    proxy.cutAfter(Number.POSITIVE_INFINITY)
    await expectWhole(pool)
  })

  test('fails the statement that waits when it hangs up while it is asked whether it is the primary', async () => {
    const proxy = await startCutProxy(url)
    const pool = connect(`${proxy.url}?target_session_attrs=primary`, { max: 1 })
    onTestFinished(() => pool.end({ timeout: 0 }))
    // The first two answers are those to the start and to the question.
    proxy.cutAtReply(2)
    await expectDown(pool`select 1`)
    expect(proxy.hasCut()).toBe(true)
    await expectWhole(pool)
  })

  test('fails with the error of the last of several hosts', async () => {
    const hosts = [await freePort(), await freePort()].map((port) => `127.0.0.1:${port}`)
    const pool = connect(url.replace(/@.*\//, `@${hosts.join(',')}/`).replace(/\?.*/, ''), { max: 1 })
    await expectDown(pool`select 1`)
    await expectDown(pool`select 1`)
    await pool.end()
  })

  test('is passed over for another host that answers, at the loss of a connection too', async () => {
    const [first, second] = [await startCutProxy(url), await startCutProxy(url)]
    first.become('refused')
    const pool = connect(second.url.replace('@', `@${first.host},`), { max: 2 })
    await pool`select 1`
    first.become('open')
    second.become('refused')
    second.cut('rst')
    await sleep(50)
    await expectWhole(pool)
  })

  test('is given up when it accepts connections and then says nothing', async () => {
    const { proxy, pool } = await cuttable()
    proxy.become('silent')
    await Promise.all(Array.from({ length: 20 }, () => expectDown(pool`select 1`)))
    proxy.become('open')
    await expectWhole(pool)
  })

  test('is given up when a statement gets no answer for as long as was said', async () => {
    const { proxy, pool } = await cuttable({ answerTimeoutMs: 1_000 })
    await pool`select pg_sleep(0.2)`
    proxy.become('silent')
    const transaction = pool.begin((tx) => tx`select 1`)
    await Promise.all([expectDown(pool`select 1`), expectDown(transaction)])
    proxy.become('open')
    await expectWhole(pool)
  })

  test('is not given up while it answers others, however long a statement takes', async () => {
    const { proxy, pool } = await cuttable({ answerTimeoutMs: 1_000 })
    expect(await pool`select 'slow' as answer, pg_sleep(1.5)::text as slept`).toEqual([{ answer: 'slow', slept: '' }])
    const [first] = await pool<{ pid: number }[]>`select pg_backend_pid() as pid`
    expect(await db`select from pg_stat_activity where pid = ${first!.pid}`).toHaveLength(1)
    proxy.cut('rst')
  })

  test('loses a session that stays silent though the server answers others', async () => {
    const { proxy, pool } = await cuttable({ max: 1, answerTimeoutMs: 300 })
    await pool`select 1`
    proxy.become('silent')
    proxy.become('open')
    await expectDown(pool`select 1`)
    await expectWhole(pool)
  })

  test('is left for another host at once when it goes silent, by all connections', async () => {
    const [first, second] = [await startCutProxy(url), await startCutProxy(url)]
    const pool = connect(first.url.replace(/@[^/]*/, `@${first.host},${second.host}`), {
      max: MAX,
      answerTimeoutMs: 1_000,
    })
    onTestFinished(() => pool.end({ timeout: 0 }))
    await Promise.all(Array.from({ length: MAX }, () => pool`select pg_sleep(0.1)`))
    first.become('silent')
    await expectDown(pool`select 1`)
    await sleep(50)
    // Each connection is asked once: one that still waited for the first host would fail.
    await Promise.all(Array.from({ length: 3 * MAX }, () => pool`select pg_sleep(0.05)`))
    await expectWhole(pool)
  })

  test('keeps no pool from closing when it says nothing', async () => {
    const { proxy, pool } = await cuttable()
    await Promise.all(Array.from({ length: MAX }, () => pool`select pg_sleep(0.05)`))
    proxy.become('silent')
    await pool.end()
  })

  test('keeps no pool from closing', async () => {
    const { proxy, pool } = await cuttable()
    await pool`select 1`
    const held = Promise.withResolvers<void>()
    const failed = expectDown(pool.begin(() => held.promise))
    await sleep(50)
    proxy.become('refused')
    proxy.cut('rst')
    await failed
    const waiting = expectDown(pool`select 1`)
    await pool.end({ timeout: 0 })
    await waiting
    held.resolve()
  })
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

/** A transaction that writes under its own name, statement by statement, and its known outcome. */
async function write(pool: Pool, writer: string): Promise<'committed' | 'failed' | 'unknown'> {
  let isOver = false
  try {
    await pool.begin(async (tx) => {
      for (let row = 0; row < ROWS - 2; row += 1) {
        await tx`insert into notes (writer) values (${writer})`
        if (Math.random() < 0.3) await sleep(Math.random() * 5)
      }
      await tx.savepoint((save) => save`insert into notes (writer) values (${writer})`)
      await Promise.all([tx`select 1`, tx`insert into notes (writer) values (${writer})`, tx`select 2`])
      isOver = true
    })
    return 'committed'
  } catch (error) {
    expect(isDatabaseDown(error), String(error)).toBe(true)
    return isOver ? 'unknown' : 'failed'
  }
}

const ROWS = 6
const WRITERS = 24
const STORM_MS = Number(process.env.STORM_MS ?? 4_000)

test('among lost connections every transaction is whole or absent, and none writes into another', async () => {
  const { proxy, pool } = await cuttable({ max: 6 })
  const outcomes = new Map<string, string>()
  const startedAt = performance.now()
  const countOf = (outcome: string) => [...outcomes.values()].filter((one) => one === outcome).length
  const isOver = () => performance.now() - startedAt > STORM_MS && countOf('committed') > 20 && countOf('failed') > 5
  const writers = Array.from({ length: WRITERS }, async (_, who) => {
    for (let n = 0; !isOver(); n += 1) {
      const writer = `${who}-${n}`
      outcomes.set(writer, await write(pool, writer))
      await pool`select ${writer}::text as mine`.then(
        (rows) => expect(rows).toEqual([{ mine: writer }]),
        (error) => expect(isDatabaseDown(error), String(error)).toBe(true),
      )
    }
  })
  const storm = (async () => {
    while (!isOver()) {
      await sleep(Math.random() * 150)
      const [, lose] = losses[Math.floor(Math.random() * losses.length)]!
      const committed = countOf('committed')
      await lose(proxy)
      // On a busy machine connections are lost faster than transactions end.
      while (!isOver() && countOf('committed') === committed) await sleep(10)
    }
  })()
  await Promise.all([...writers, storm])

  const written = await db<{ writer: string; count: number; xids: number }[]>`
    select writer, count(*)::int, count(distinct xid)::int as xids from notes group by writer
  `
  const [shared] = await db<{ count: number }[]>`
    select count(*)::int from (select from notes group by xid having count(distinct writer) > 1) as mixed
  `
  const counts = new Map(written.map(({ writer, count }) => [writer, count]))
  const wrong = [...outcomes].filter(([writer, outcome]) => {
    const count = counts.get(writer) ?? 0
    if (outcome === 'committed') return count !== ROWS
    return outcome === 'failed' ? count !== 0 : count !== 0 && count !== ROWS
  })
  expect(wrong).toEqual([])
  expect(shared).toEqual({ count: 0 })
  // Rows that follow each other in one transaction; a savepoint's carry the number of the whole.
  expect(written.filter(({ xids }) => xids !== 1)).toEqual([])
  await db`truncate notes`
  await expectWhole(pool)
})
