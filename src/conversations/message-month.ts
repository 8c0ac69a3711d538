import { type Fragment, sql } from '../db/connect.ts'
import { systemClock } from '../platform/clock.ts'

/** A message's id is the month of its creation, counted since January 1970 (UTC), times this, and a number. */
export const IDS_A_MONTH = 1_000_000_000_000

const FIRST_YEAR = 1970
const DAY_MS = 86_400_000

/** The month of a time, counted since January 1970. */
export const monthOf = (at: Date): number => (at.getUTCFullYear() - FIRST_YEAR) * 12 + at.getUTCMonth()

/** The month of an id; 0: the message is older than the partitions by month. */
export const monthOfId = (id: number): number => Math.floor(id / IDS_A_MONTH)

/** The provider repeats an event for 7 days, delivers for 30 days, and reports that a message was read when it is. */
const RECENT_DAYS = 62

/**
 * The condition that a message of the last two months fulfils, and each from before the months: for statements that would
 * otherwise look into the index of every month.
 *
 * The bound is a part of the text, which changes once a month, so that the planner leaves out the other months. Left out when a
 * statement begins, by a parameter or by `now()`, they make PostgreSQL 18.4 skip rows of a statement that meets a row that was
 * changed at the same time: the recheck of that row renumbers the partitions once more.
 */
export const isRecent = (): Fragment => {
  const first = monthOf(new Date(systemClock.now().getTime() - RECENT_DAYS * DAY_MS)) * IDS_A_MONTH
  return sql`(message.id >= ${sql.unsafe(String(first))} or message.id < 1000000000000)`
}

/** The condition that a message fulfils when it was created after a time, by any clock that is at most a day ahead. */
export const isSince = (from: Date): Fragment => {
  const first = monthOf(new Date(from.getTime() - DAY_MS)) * IDS_A_MONTH
  return sql`(message.id >= ${first}::bigint or message.id < 1000000000000)`
}

/** The condition that messages of the months of these ids fulfil; a part of the text, as in isRecent. */
export const isAmong = (ids: readonly number[]): Fragment => {
  const months = [...new Set(ids.map(monthOfId))].toSorted((a, b) => a - b)
  if (months.length === 0) return sql`false`
  const ranges = months.map((month) => `message.id between ${month * IDS_A_MONTH} and ${(month + 1) * IDS_A_MONTH - 1}`)
  return sql`(${sql.unsafe(ranges.join(' or '))})`
}
