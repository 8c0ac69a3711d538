import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { freePort } from '../../../test/free-port.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { connect } from '../../db/connect.ts'
import { fixedClock } from '../../platform/clock.ts'
import { createRequestLimiter, type RequestLimiter, type Standing } from './rate-limit.ts'

const { db, url } = await createTestDatabase()
const clock = fixedClock('2026-01-01T00:00:00Z')
const inMemory = { databaseUrl: undefined, redisUrl: undefined, processes: 1 }
const inDatabase = { databaseUrl: url, redisUrl: undefined, processes: 1 }

/** Many requests at once, spread over several limiters as over the processes of one service. */
const countAll = (limiters: RequestLimiter[], requests: number, companyId: number, limit: number) =>
  Promise.all(
    Array.from({ length: requests }, (_, place) => limiters[place % limiters.length]!.countCompany(companyId, limit)),
  )

function expectExact(standings: Standing[], limit: number): void {
  const admitted = standings.filter(({ isOver }) => !isOver).map(({ remaining }) => remaining)
  expect(admitted.sort((one, other) => other - one)).toEqual(
    Array.from({ length: limit }, (_, place) => limit - 1 - place),
  )
  expect(standings.filter(({ isOver }) => isOver).every(({ remaining }) => remaining === 0)).toBe(true)
}

describe.each([
  ['in memory', inMemory],
  ['in the database', inDatabase],
])('counting %s', (_where, config) => {
  test('admits exactly the limit, in a window of 60 seconds', async () => {
    const limiter = await createRequestLimiter({ config, db, clock })
    const standings = await countAll([limiter], 120, 1, 100)
    expectExact(standings, 100)
    const { resetAt, retryAfterSeconds, limit } = standings[119]!
    expect(limit).toBe(100)
    expect(retryAfterSeconds).toBeGreaterThan(0)
    expect(retryAfterSeconds).toBeLessThanOrEqual(60)
    expect(resetAt.getTime() - clock.now().getTime()).toBeLessThanOrEqual(60_000)
  })

  test('numbers requests that wait together in the order in which they came', async () => {
    const limiter = await createRequestLimiter({ config, db, clock })
    const remaining = (await countAll([limiter], 50, 2, 1_000)).map((standing) => standing.remaining)
    // Two writes may run at once: the first two requests share no write.
    const waited = remaining.slice(2)
    expect(waited).toEqual(Array.from(waited, (_, place) => waited[0]! - place))
    expect(new Set(remaining).size).toBe(50)
  })

  test('keeps companies and addresses apart', async () => {
    const limiter = await createRequestLimiter({ config, db, clock })
    const [one, other, address] = await Promise.all([
      limiter.countCompany(31, 10),
      limiter.countCompany(32, 20),
      limiter.countAddress('31'),
    ])
    expect([one?.remaining, other?.remaining, address?.remaining]).toEqual([9, 19, 99])
  })
})

test('the count is exact across processes: two limiters, one database, 300 requests at once', async () => {
  const pools = [connect(url, { max: 5 }), connect(url, { max: 5 })]
  const limiters = await Promise.all(pools.map((pool) => createRequestLimiter({ config: inDatabase, db: pool, clock })))
  expectExact(await countAll(limiters, 300, 4, 100), 100)
  await Promise.all(pools.map((pool) => pool.end()))
})

test('workers on the embedded database count together, as several nodes do', async () => {
  const config = { ...inMemory, processes: 2 }
  const limiters = [
    await createRequestLimiter({ config, db, clock }),
    await createRequestLimiter({ config, db, clock }),
  ]
  const standings = await Promise.all(limiters.map((limiter) => limiter.countCompany(71, 10)))
  expect(standings.map(({ remaining }) => remaining).sort()).toEqual([8, 9])
})

test('the window follows the database’s time, whatever the clock of the process says', async () => {
  const [startedAt, since] = [Date.now(), performance.now()]
  const databaseTime = { now: () => new Date(startedAt + performance.now() - since) }
  const limiter = await createRequestLimiter({ config: inDatabase, db, clock: databaseTime })
  onTestFinished(() => void vi.useRealTimers())
  const remaining: number[] = []
  for (const minutesAhead of [0, 2, -2]) {
    vi.useFakeTimers({ toFake: ['Date'], now: startedAt + minutesAhead * 60_000 })
    const standing = await limiter.countCompany(61, 10)
    remaining.push(standing.remaining)
    const left = standing.resetAt.getTime() - databaseTime.now().getTime()
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(60_000)
  }
  expect(remaining).toEqual([9, 8, 7])
})

test('a window that is over is forgotten', async () => {
  const limiter = await createRequestLimiter({ config: inDatabase, db, clock })
  await limiter.countCompany(5, 10)
  await db`update rate_limits set expire = ${clock.now().getTime() - 1} where key = 'company:5'`
  expect((await limiter.countCompany(5, 10)).remaining).toBe(9)
})

const hasRedis = (() => {
  try {
    execFileSync('redis-server', ['--version'])
    return true
  } catch {
    return false
  }
})()

describe.skipIf(!hasRedis)('counting in Redis', () => {
  let redis: ChildProcess
  let redisUrl: string
  let limiters: RequestLimiter[]

  beforeAll(async () => {
    const [port, folder] = [await freePort(), await createTestFolder()]
    redisUrl = `redis://127.0.0.1:${port}`
    redis = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder])
    await new Promise<void>((resolve) => {
      redis.stdout?.on('data', (text: Buffer) => text.includes('Ready to accept') && resolve())
    })
    const config = { databaseUrl: url, redisUrl, processes: 1 }
    limiters = [await createRequestLimiter({ config, db, clock }), await createRequestLimiter({ config, db, clock })]
    await untilCountedInRedis()
  })
  afterAll(async () => {
    for (const limiter of limiters) await limiter.close()
    redis.kill('SIGKILL')
  })

  /** A limiter counts in the database until Redis is connected. */
  async function untilCountedInRedis(): Promise<void> {
    for (const [place, limiter] of limiters.entries()) {
      const key = 1_000 + place
      for (;;) {
        await limiter.countCompany(key, 10)
        const before = await pointsInDatabase(key)
        await limiter.countCompany(key, 10)
        if ((await pointsInDatabase(key)) === before) break
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
  const pointsInDatabase = async (companyId: number): Promise<number> => {
    const [row] = await db<{ points: number }[]>`select points from rate_limits where key = ${`company:${companyId}`}`
    return row?.points ?? 0
  }

  test('is exact across processes too', async () => {
    // A Redis that answers too late on a busy machine counts as away, and its company has another place: the next one is counted.
    for (let companyId = 2_000; ; companyId += 1) {
      const standings = await countAll(limiters, 300, companyId, 100)
      if ((await pointsInDatabase(companyId)) > 0) continue
      expectExact(standings, 100)
      break
    }
  })

  test('goes on in the database while Redis is away', async () => {
    redis.kill('SIGKILL')
    await new Promise((resolve) => redis.once('exit', resolve))
    expectExact(await countAll(limiters, 120, 7, 100), 100)
    expect(await pointsInDatabase(7)).toBe(120)
  })
})
