import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { type Loss, startPostgres } from '../faults/database/postgres.ts'
import { until } from '../parley-process.ts'

const TIMEOUT = 300_000
/** Enough to show that writing goes on. */
const WRITES = 20

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
    let isOver = false
    const write = async () => {
      for (let number = 1; !isOver; number += 1) {
        const isIn = await pool`insert into notes values (${number})`.then(
          () => true,
          () => false,
        )
        if (isIn) committed.push(number)
        await sleep(20)
      }
    }
    const writing = write()
    const hasWritten = (count: number) => until('it writes', () => committed.length >= count)
    try {
      await hasWritten(WRITES)
      await postgres.promote('freeze')
      await hasWritten(committed.length + WRITES)
    } finally {
      isOver = true
      await writing
    }
    const stored = await pool<{ number: number }[]>`select number from notes`
    const numbers = new Set(stored.map(({ number }) => number))
    expect(committed.filter((number) => !numbers.has(number))).toEqual([])
    await pool.end()
  },
  TIMEOUT,
)

test.each<Loss>(['kill', 'freeze'])(
  'a listener gets notices of the promoted standby after a %s of the primary',
  async (loss) => {
    const postgres = await setUp()
    const pool = connect(postgres.url, { max: 2, answerTimeoutMs: 5_000 })
    onTestFinished(() => pool.end({ timeout: 0 }))
    const notices: string[] = []
    let begun = 0
    const listening = await pool.listen(
      'changes',
      (notice) => notices.push(notice),
      () => {
        begun += 1
      },
    )
    await pool`select pg_notify('changes', 'before')`
    await until('it gets the first', () => notices.includes('before'))
    await postgres.promote(loss)
    // A statement notices that the server is silent; the notice of a time without listening is lost.
    const notify = () => pool`select pg_notify('changes', 'after')`.catch(() => {})
    await until('it gets one of the new primary', async () => {
      await notify()
      return notices.includes('after')
    })
    expect(begun).toBe(2)
    await listening.unlisten()
    await until('its connection is closed', async () => {
      const left = await pool`select from pg_stat_activity where query like 'listen%' and pid <> pg_backend_pid()`
      return left.length === 0
    })
  },
  TIMEOUT,
)
