import type { Db, Fragment } from '../db/connect.ts'

/** A message's id is the month of its creation, counted since January 1970 (UTC), times this, and a number. */
export const IDS_A_MONTH = 1_000_000_000_000

const FIRST_YEAR = 1970
const DAY_MS = 86_400_000

/** The month of a time, counted since January 1970. */
export const monthOf = (at: Date): number => (at.getUTCFullYear() - FIRST_YEAR) * 12 + at.getUTCMonth()

/** The month of an id; 0: the message is older than the partitions by month. */
export const monthOfId = (id: number): number => Math.floor(id / IDS_A_MONTH)

/**
 * The condition that a message of the last two months fulfils, and each from before the months: for statements that would
 * otherwise look into the index of every month. The provider repeats an event for 7 days, delivers for 30 days, and reports that
 * a message was read when it is.
 */
export const isRecent = (db: Db): Fragment => db`
  (message.id >= message_id_floor(now() - interval '62 days') or message.id < 1000000000000)
`

/** The condition that a message fulfils when it was created after a time, by any clock that is at most a day ahead. */
export const isSince = (db: Db, from: Date): Fragment => {
  const first = monthOf(new Date(from.getTime() - DAY_MS)) * IDS_A_MONTH
  return db`(message.id >= ${first}::bigint or message.id < 1000000000000)`
}

/** The condition that messages of these ids fulfil: of those of one month, one partition is read. */
export const isAmong = (db: Db, ids: readonly number[]): Fragment =>
  ids.length === 0 ? db`false` : db`message.id between ${Math.min(...ids)}::bigint and ${Math.max(...ids)}::bigint`
