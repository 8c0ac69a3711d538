import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startCutProxy } from '../../test/cut-proxy.ts'
import { expectDown, expectWhole, MAX, startCuttable } from '../../test/cuttable-pool.ts'
import { freePort } from '../../test/free-port.ts'
import { connect } from './connect.ts'

const { db, url, cuttable } = await startCuttable()

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
