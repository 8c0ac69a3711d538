import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../src/db/connect.ts'
import { startPostgres } from './faults/postgres.ts'

/** The goal is 6 s; the machine of the tests may be busy. */
const LONGEST_GAP_MS = 12_000
const TIMEOUT = 180_000

/** Two hosts, the second a synchronous standby, and a pool on both as the service has it. */
async function setUp() {
  const postgres = await startPostgres()
  onTestFinished(postgres.stop)
  await postgres.ask((db) => db`create table notes (number int primary key)`)
  await postgres.addStandby()
  return postgres
}

test(
  'target_session_attrs=read-write passes over a standby, which takes no writes',
  async () => {
    const postgres = await setUp()
    const standbyFirst = postgres.url.replace(/@([^,]*),([^/]*)/, '@$2,$1')
    const pool = connect(standbyFirst, { max: 3 })
    await Promise.all([1, 2, 3].map((number) => pool`insert into notes values (${number}), (${-number})`))
    expect(await pool`select pg_is_in_recovery() as standby`).toEqual([{ standby: false }])
    await pool.end()
  },
  TIMEOUT,
)

test(
  'a frozen primary is left for its promoted standby, and nothing committed is lost',
  async () => {
    const postgres = await setUp()
    const pool = connect(postgres.url, { max: 5, answerTimeoutMs: 5_000 })
    const committed: number[] = []
    let longestGapMs = 0
    let isOver = false
    const write = async () => {
      let lastAtMs = performance.now()
      for (let number = 1; !isOver; number += 1) {
        const isIn = await pool`insert into notes values (${number})`.then(
          () => true,
          () => false,
        )
        if (isIn) {
          committed.push(number)
          longestGapMs = Math.max(longestGapMs, performance.now() - lastAtMs)
          lastAtMs = performance.now()
        }
        await sleep(20)
      }
      return performance.now() - lastAtMs
    }
    const writing = write()
    await sleep(1_000)
    await postgres.promote('freeze')
    await sleep(1_000)
    isOver = true
    expect(await writing).toBeLessThan(LONGEST_GAP_MS)
    expect(longestGapMs).toBeLessThan(LONGEST_GAP_MS)
    const kept = await pool<{ number: number }[]>`select number from notes`
    const numbers = new Set(kept.map(({ number }) => number))
    expect(committed.filter((number) => !numbers.has(number))).toEqual([])
    await pool.end()
  },
  TIMEOUT,
)
