import type { Db } from '../db/connect.ts'

/** Removes customers from the daily-limit ledger of a company; their ordinals stay counted. */
export async function eraseReach(db: Db, companyId: number, identities: readonly string[]): Promise<void> {
  await db`
    update sender_reach reach
    set customer = ''
    from senders sender
    where sender.company_id = ${companyId}
      and (reach.company_id, reach.sender_id) = (sender.company_id, sender.id)
      and reach.customer = any(${[...identities]}::text[])
  `
}

/** Of each sender so many of its oldest entries are looked at by one statement. */
const LEDGER_STEP = 1_000

/** Deletes entries of the daily-limit ledger that are more than 24 hours old; returns how many. */
export async function expireReach(db: Db, senders: number): Promise<number> {
  const expired = await db`
    with sender as materialized (
      select counts.company_id, counts.sender_id, expired.ordinal
      from sender_reach_counts counts
      cross join lateral (
        select max(entry.ordinal) as ordinal
        from (
          select reach.ordinal, reach.reached_at
          from sender_reach reach
          where (reach.company_id, reach.sender_id) = (counts.company_id, counts.sender_id)
          order by reach.ordinal
          limit ${LEDGER_STEP}
        ) as entry
        where entry.reached_at < now() - interval '25 hours'
      ) as expired
      where counts.forgotten < counts.reached and expired.ordinal is not null
      order by counts.company_id, counts.sender_id
      limit ${senders}
      for no key update of counts skip locked
    ),
    forgotten as (
      update sender_reach_counts counts
      set forgotten = greatest(counts.forgotten, sender.ordinal)
      from sender
      where (counts.company_id, counts.sender_id) = (sender.company_id, sender.sender_id)
    )
    delete from sender_reach reach
    using sender
    where (reach.company_id, reach.sender_id) = (sender.company_id, sender.sender_id) and reach.ordinal <= sender.ordinal
  `
  return expired.count
}
