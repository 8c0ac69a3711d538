import { type Db, type Fragment, sql } from '../db/connect.ts'
import { systemClock } from '../platform/clock.ts'
import { recordKeyOf } from '../platform/ids.ts'

/** A message id is its UTC month since January 1970 times this, plus a number. */
export const IDS_A_MONTH = 1_000_000_000_000

const FIRST_YEAR = 1970
const DAY_MS = 86_400_000

export const monthOf = (at: Date): number => (at.getUTCFullYear() - FIRST_YEAR) * 12 + at.getUTCMonth()

/** Returns 0 for pre-partition messages. */
export const monthOfId = (id: number): number => Math.floor(id / IDS_A_MONTH)

/** The provider repeats events for 7 days and delivers for 30; read receipts can follow later. */
const RECENT_DAYS = 62

/**
 * Restricts a statement to the last two months and pre-partition messages, to avoid probing every month's index.
 * Must be literal text, which changes monthly, for plan-time pruning: with run-time pruning by a parameter or `now()`,
 * PostgreSQL 18.4 skips rows when rechecking a concurrently changed row renumbers the partitions.
 */
export const isRecent = (): Fragment => {
  const first = monthOf(new Date(systemClock.now().getTime() - RECENT_DAYS * DAY_MS)) * IDS_A_MONTH
  return sql`(message.id >= ${sql.unsafe(String(first))} or message.id < 1000000000000)`
}

/** Matches messages since a time, by any clock at most a day ahead. */
export const isSince = (from: Date): Fragment => {
  const first = monthOf(new Date(from.getTime() - DAY_MS)) * IDS_A_MONTH
  return sql`(message.id >= ${first}::bigint or message.id < 1000000000000)`
}

/** Matches the months of these ids; literal text, as in `isRecent`. */
export const isAmong = (ids: readonly number[]): Fragment => {
  const months = [...new Set(ids.map(monthOfId))].toSorted((a, b) => a - b)
  if (months.length === 0) return sql`false`
  const ranges = months.map((month) => `message.id between ${month * IDS_A_MONTH} and ${(month + 1) * IDS_A_MONTH - 1}`)
  return sql`(${sql.unsafe(ranges.join(' or '))})`
}

type MessageId = { companyId: number; id: number }

/**
 * Locks messages in key order and reads statuses. Must not join: PostgreSQL 18.4 crashes if a statement locks a
 * concurrently changed row, then looks up a partition by another row's value (docs/decisions/0016).
 */
export async function lockMessages(
  tx: Db,
  messages: readonly MessageId[],
): Promise<(MessageId & { status: string })[]> {
  const ids = messages.map(({ id }) => id)
  const locked = await tx<(MessageId & { status: string })[]>`
    select company_id, id, status
    from messages message
    where message.company_id = any(${messages.map(({ companyId }) => companyId)}::bigint[])
      and message.id = any(${ids}::bigint[])
      and ${isAmong(ids)}
    order by message.company_id, message.id
    for no key update
  `
  const keys = new Set(messages.map(recordKeyOf))
  return locked.filter((message) => keys.has(recordKeyOf(message)))
}
