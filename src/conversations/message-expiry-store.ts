import { type Db, type Fragment, sql } from '../db/connect.ts'
import { type AgingRows, deleteSelected, type ExpiryBatch } from '../db/lifetime-store.ts'
import { IDS_A_MONTH, monthOf } from './message-store.ts'

/** Messages from before the months' partitions. */
export const earlierMessages = (days: number): AgingRows => ({
  table: 'messages',
  where: sql`aging.id < ${IDS_A_MONTH}::bigint`,
  areDeletable: sql`true`,
  days,
})

/** Clears what a conversation shows of messages up to `last.seq`. */
const startingAfterLast = sql`
  expired_count = greatest(conversation.expired_count, last.seq),
  last_text = case when conversation.message_count > last.seq then conversation.last_text end,
  last_direction = case when conversation.message_count > last.seq then conversation.last_direction end,
  last_message_at = case when conversation.message_count > last.seq then conversation.last_message_at end,
  referral = case when conversation.message_count > last.seq then conversation.referral end
`

/** Deletes messages without media; their conversations then start after them. */
export async function deleteMessages(db: Db, companyId: number, ids: readonly number[]): Promise<void> {
  await db`
    with target as materialized (
      select id, conversation_id, seq, wamid
      from messages
      where company_id = ${companyId} and id = any(${[...ids]}::bigint[])
      order by id
      for update
    ),
    status as (
      delete from message_status_events event using target
      where (event.company_id, event.message_id) = (${companyId}, target.id)
    ),
    reaction as (
      delete from message_reactions reaction using target
      where (reaction.company_id, reaction.target_wamid) = (${companyId}, target.wamid)
    ),
    change as (
      delete from message_changes change using target
      where (change.company_id, change.target_wamid) = (${companyId}, target.wamid)
    ),
    conversation as (
      update conversations conversation
      set ${startingAfterLast}
      from (select target.conversation_id, max(target.seq) as seq from target group by target.conversation_id) as last
      where (conversation.company_id, conversation.id) = (${companyId}, last.conversation_id)
    )
    delete from messages using target where (messages.company_id, messages.id) = (${companyId}, target.id)
  `
}

/** Also how long the service can be stopped without missing partitions. */
const MONTHS_AHEAD = 2

export async function makeMessageMonths(db: Db): Promise<void> {
  const [row] = await db<[{ now: Date }]>`select now() as now`
  const present = monthOf(row.now)
  for (let month = present; month <= present + MONTHS_AHEAD; month += 1) await makeMessageMonth(db, month)
}

/** Returns whether the partition was missing. Months count from January 1970. */
export async function makeMessageMonth(db: Db, month: number): Promise<boolean> {
  const [row] = await db<[{ created: boolean }]>`select make_message_month(${month}::integer) as created`
  return row.created
}

/** Finds the oldest month ended over `keepDays` days ago. */
export async function findExpiredMonth(db: Db, keepDays: number): Promise<number | undefined> {
  const [row] = await db<{ month: number }[]>`
    select oldest.month
    from (
      select min((substr(child.relname, 10, 4)::integer - 1970) * 12 + substr(child.relname, 14, 2)::integer - 1) as month
      from pg_inherits
      join pg_class child on child.oid = pg_inherits.inhrelid
      where pg_inherits.inhparent = 'messages'::regclass and child.relname ~ '^messages_[0-9]{6}$'
    ) as oldest
    where (timestamp '1970-01-01' + make_interval(months => oldest.month + 1)) at time zone 'UTC'
      < now() - make_interval(days => ${keepDays})
  `
  return row?.month
}

/** Drops a month ended over `keepDays` days ago; throws 55P03 after a 30 ms lock wait: retry later. */
export async function dropMessageMonth(db: Db, month: number, keepDays: number): Promise<boolean> {
  const [row] = await db<[{ dropped: boolean }]>`
    select drop_message_month(${month}::integer, ${keepDays}::integer) as dropped
  `
  return row.dropped
}

/** Matches message ids in months that ended over `days` days ago. */
export const areOfExpiredMonths = (days: number): Fragment => sql`
  message_id >= ${IDS_A_MONTH}::bigint and message_id < message_id_floor(now() - make_interval(days => ${days}))
`

export const expireStatusEvents = (
  db: Db,
  companyId: number,
  days: number,
  { limit, skip }: ExpiryBatch,
): Promise<number> =>
  deleteSelected(
    db,
    'message_status_events',
    ['company_id', 'message_id', 'status'],
    sql`
      where company_id = ${companyId} and ${areOfExpiredMonths(days)}
      order by message_id, status
      limit ${limit}
      offset ${skip}
    `,
  )

export type WalkPlace = { companyId: number; id: number }

/**
 * Moves conversation starts past an expired month, `limit` at a time, clearing last text and referral; returns the last
 * one, undefined at the end. Reads one index entry per conversation.
 */
export async function startConversationsAfter(
  db: Db,
  month: number,
  { companyId, id }: WalkPlace,
  limit: number,
): Promise<WalkPlace | undefined> {
  const isOfMonth = sql`
    message.id between ${month * IDS_A_MONTH}::bigint and ${(month + 1) * IDS_A_MONTH - 1}::bigint
  `
  const [last] = await db<WalkPlace[]>`
    with recursive walk (company_id, id, place) as (
      select ${companyId}::bigint, ${id}::bigint, 0
      union all
      select following.company_id, following.conversation_id, walk.place + 1
      from walk
      cross join lateral (
        select message.company_id, message.conversation_id
        from messages message
        where (message.company_id, message.conversation_id) > (walk.company_id, walk.id) and ${isOfMonth}
        order by message.company_id, message.conversation_id, message.seq
        limit 1
      ) as following
      where walk.place < ${limit}
    ),
    last as materialized (
      select walk.company_id, walk.id, walk.place, newest.seq
      from walk
      cross join lateral (
        select message.seq
        from messages message
        where (message.company_id, message.conversation_id) = (walk.company_id, walk.id) and ${isOfMonth}
        order by message.seq desc
        limit 1
      ) as newest
      where walk.place > 0
    ),
    started as (
      update conversations conversation
      set ${startingAfterLast}
      from last
      where (conversation.company_id, conversation.id) = (last.company_id, last.id)
        and conversation.expired_count < last.seq
    )
    select last.company_id, last.id from last order by last.place desc limit 1
  `
  return last
}
