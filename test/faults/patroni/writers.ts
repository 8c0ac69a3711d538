import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Pool } from '../../../src/db/connect.ts'

const EVERY_MS = 100
/** Longer than a lost leader stays away: the statements that it held go on when it is back. */
const ANSWER_TIMEOUT_MS = 60_000
const CONNECTIONS = 2

/** Clients that write to one server each, whether it is the leader or not, and keep what it acknowledged. */
export type Writers = {
  /** How many acknowledged writes this database does not have. */
  countLost(db: Pool): Promise<number>
  stop(): Promise<void>
}

/** Starts writers on the servers of these addresses, in a table that they create at the leader. */
export async function startWriters(leader: Pool, urls: string[]): Promise<Writers> {
  await leader`create table acknowledged (number bigint primary key)`
  const acknowledged: number[] = []
  let next = 0
  let isOver = false
  const pools = urls.map((url) => connect(url, { max: CONNECTIONS, answerTimeoutMs: ANSWER_TIMEOUT_MS }))
  const write = async (pool: Pool) => {
    while (!isOver) {
      next += 1
      const number = next
      // A standby refuses, a server that is away does not answer.
      await pool`insert into acknowledged values (${number})`.then(
        () => acknowledged.push(number),
        () => {},
      )
      await sleep(EVERY_MS)
    }
  }
  const writing = pools.flatMap((pool) => Array.from({ length: CONNECTIONS }, () => write(pool)))
  return {
    countLost: async (db) => {
      const rows = await db<{ number: number }[]>`select number from acknowledged`
      const kept = new Set(rows.map(({ number }) => number))
      return acknowledged.filter((number) => !kept.has(number)).length
    },
    stop: async () => {
      isOver = true
      await Promise.all(pools.map((pool) => pool.end({ timeout: 0 })))
      await Promise.all(writing)
    },
  }
}
