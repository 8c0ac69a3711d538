import { type Db, type Fragment, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'

export type DailyLimitPlace = { companyId: number; scope: string; customerId: number; messageId: number }

/** Takes daily-limit places. The caller must hold the limit locks. */
export async function takePlaces(tx: Db, places: readonly DailyLimitPlace[], at: Date): Promise<void> {
  await tx`
    with taken as (
      insert into daily_limit_entries (company_id, scope, customer_id, message_id, counted_at)
      select company_id, scope, customer_id, message_id, ${at}
      from ${inputRows(places, { bigint: ['companyId', 'customerId', 'messageId'], text: ['scope'] })}
      on conflict (company_id, scope, customer_id) do update set
        message_id = excluded.message_id,
        counted_at = excluded.counted_at
      returning company_id, scope, xmax = 0 as is_new
    )
    update daily_limits limits
    set used = limits.used + added.places
    from (
      select company_id, scope, count(*)::integer as places from taken where is_new group by company_id, scope
    ) as added
    where (limits.company_id, limits.scope) = (added.company_id, added.scope)
  `
}

/** Returns undelivered messages' places, or passes each to a later message for the same limit and customer. */
export async function giveBackPlaces(tx: Db, messages: readonly { companyId: number; id: number }[]): Promise<void> {
  const entries = sql`
    from ${inputRows(messages, { bigint: ['companyId', 'id'] })}
    join daily_limit_entries entry on (entry.company_id, entry.message_id) = (input.company_id, input.id)
  `
  // Must be separate from the search for later messages (docs/decisions/0016).
  const lock = tx`
    select ${entries}
    join daily_limits limits on (limits.company_id, limits.scope) = (entry.company_id, entry.scope)
    order by limits.company_id, limits.scope
    for update of limits
  `
  const move = tx`
    with own as materialized (
      select entry.company_id, entry.scope, entry.customer_id, entry.message_id ${entries}
    ),
    later as materialized (
      select own.company_id, own.scope, own.customer_id, own.message_id, other.id as other_id
      from own
      left join lateral (
        select message.id
        from conversations conversation
        join senders sender on (sender.company_id, sender.id) = (conversation.company_id, conversation.sender_id)
        join messages message
          on (message.company_id, message.conversation_id) = (conversation.company_id, conversation.id)
        where (conversation.company_id, conversation.customer_id) = (own.company_id, own.customer_id)
          and own.scope in ('sender:' || sender.id, 'portfolio:' || sender.portfolio_id)
          and message.id > own.message_id
          and message.direction = 'outbound'
          and message.status <> 'failed'
          and not message.is_echo
        order by message.id
        limit 1
      ) as other on true
    ),
    moved as (
      update daily_limit_entries entry
      set message_id = later.other_id
      from later
      where (entry.company_id, entry.scope, entry.customer_id) = (later.company_id, later.scope, later.customer_id)
        and later.other_id is not null
    ),
    freed as (
      delete from daily_limit_entries entry
      using later
      where (entry.company_id, entry.scope, entry.customer_id) = (later.company_id, later.scope, later.customer_id)
        and entry.message_id = later.message_id
        and later.other_id is null
      returning entry.company_id, entry.scope
    )
    update daily_limits limits
    set used = limits.used - returned.places
    from (select company_id, scope, count(*)::integer as places from freed group by company_id, scope) as returned
    where (limits.company_id, limits.scope) = (returned.company_id, returned.scope)
  `
  await Promise.all([lock, move])
}

export async function eraseDailyLimitEntries(db: Db, companyId: number, contactId: number): Promise<void> {
  await db`
    with erased as (
      delete from daily_limit_entries
      where company_id = ${companyId}
        and customer_id in (select id from customers where company_id = ${companyId} and contact_id = ${contactId})
      returning scope
    )
    update daily_limits limits
    set used = limits.used - freed.places
    from (select scope, count(*)::integer as places from erased group by scope) as freed
    where limits.company_id = ${companyId} and limits.scope = freed.scope
  `
}

const MAX_EXPIRED = 500
const HOUR_MS = 3_600_000
const PLACE_MS = 24 * HOUR_MS

const expirePlaces = (tx: Db, own: Fragment, until: Date) => tx`
    with own as materialized (${own}),
    expired as (
      delete from daily_limit_entries entry
      using own
      cross join lateral (
        select oldest.customer_id
        from daily_limit_entries oldest
        where (oldest.company_id, oldest.scope) = (own.company_id, own.scope) and oldest.counted_at <= ${until}
        order by oldest.counted_at
        limit ${MAX_EXPIRED}
      ) as oldest
      where (entry.company_id, entry.scope, entry.customer_id) = (own.company_id, own.scope, oldest.customer_id)
      returning entry.company_id, entry.scope
    )
    update daily_limits limits
    set used = limits.used - freed.places
    from (select company_id, scope, count(*)::integer as places from expired group by company_id, scope) as freed
    where (limits.company_id, limits.scope) = (freed.company_id, freed.scope)
  `

/** Locks daily limits, then expires places. Must not be one statement: waiting for a lock misses renewed places. */
export function lockDailyLimits(tx: Db, sends: readonly { companyId: number; limitScope: string }[], at: Date) {
  const input = inputRows(sends, { bigint: ['companyId'], text: ['limitScope'] })
  const create = tx`
    insert into daily_limits (company_id, scope)
    select distinct input.company_id, input.limit_scope
    from ${input}
    order by input.company_id, input.limit_scope
    on conflict do nothing
  `
  const own = sql`
    select limits.company_id, limits.scope
    from daily_limits limits
    where (limits.company_id, limits.scope) in (
      select input.company_id, input.limit_scope from ${input}
    )
    order by limits.company_id, limits.scope
  `
  const lock = tx`${own} for update`
  return [create, lock, expirePlaces(tx, own, new Date(at.getTime() - PLACE_MS))]
}

/** Expires idle senders' places, one hour later than sends do, after the first `skip` limits; returns their number. */
export async function expireDailyLimitEntries(db: Db, limits: number, now: Date, skip = 0): Promise<number> {
  const until = new Date(now.getTime() - PLACE_MS - HOUR_MS)
  const expired = await expirePlaces(
    db,
    sql`
      select daily.company_id, daily.scope
      from daily_limits daily
      where daily.used > 0
        and exists (
          select
          from daily_limit_entries entry
          where (entry.company_id, entry.scope) = (daily.company_id, daily.scope) and entry.counted_at <= ${until}
        )
      order by daily.company_id, daily.scope
      limit ${limits}
      offset ${skip}
      for no key update of daily skip locked
    `,
    until,
  )
  return expired.count
}
