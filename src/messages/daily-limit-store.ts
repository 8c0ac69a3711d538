import type { Db } from '../db/connect.ts'

/** Removes customers from the daily-limit ledger of a company; their ordinals stay counted. */
export async function eraseDailyLimitEntries(db: Db, companyId: number, identities: readonly string[]): Promise<void> {
  await db`
    update daily_limit_entries entry
    set customer = ''
    from senders sender
    where sender.company_id = ${companyId}
      and (entry.company_id, entry.sender_id) = (sender.company_id, sender.id)
      and entry.customer = any(${[...identities]}::text[])
  `
}

/** The oldest entries of each sender that one statement reads at most. */
const LEDGER_BATCH = 1_000

/** Deletes entries of the daily-limit ledger that are more than 24 hours old; returns how many. */
export async function expireDailyLimitEntries(db: Db, senders: number): Promise<number> {
  const expired = await db`
    with sender as materialized (
      select limits.company_id, limits.sender_id, expired.ordinal
      from sender_limits limits
      cross join lateral (
        select max(entry.ordinal) as ordinal
        from (
          select entry.ordinal, entry.counted_at
          from daily_limit_entries entry
          where (entry.company_id, entry.sender_id) = (limits.company_id, limits.sender_id)
          order by entry.ordinal
          limit ${LEDGER_BATCH}
        ) as entry
        where entry.counted_at < now() - interval '25 hours'
      ) as expired
      where limits.expired_ordinal < limits.last_ordinal and expired.ordinal is not null
      order by limits.company_id, limits.sender_id
      limit ${senders}
      for no key update of limits skip locked
    ),
    moved as (
      update sender_limits limits
      set expired_ordinal = greatest(limits.expired_ordinal, sender.ordinal)
      from sender
      where (limits.company_id, limits.sender_id) = (sender.company_id, sender.sender_id)
    )
    delete from daily_limit_entries entry
    using sender
    where (entry.company_id, entry.sender_id) = (sender.company_id, sender.sender_id) and entry.ordinal <= sender.ordinal
  `
  return expired.count
}
