import { type Db, type Fragment, sql } from '../db/connect.ts'
import type { ExpiryBatch } from '../db/lifetime-store.ts'
import { IDS_A_MONTH, monthOf } from './message-month.ts'

/** Returns companies with expired pre-partition messages. Ids grow with time, so each company costs one probe. */
export async function listCompaniesWithEarlier(db: Db, days: number, limit: number): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select company.id
    from companies company
    cross join lateral (
      select message.created_at
      from messages message
      where message.company_id = company.id and message.id < ${IDS_A_MONTH}::bigint
      order by message.id
      limit 1
    ) as oldest
    where oldest.created_at < now() - make_interval(days => ${days})
    order by company.id
    limit ${limit}
  `
  return rows.map(({ id }) => id)
}

export async function findEarlierMessages(
  db: Db,
  companyId: number,
  days: number,
  { limit, skip }: ExpiryBatch,
): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select oldest.id
    from (
      select message.id, message.created_at
      from messages message
      where message.company_id = ${companyId} and message.id < ${IDS_A_MONTH}::bigint
      order by message.id
      limit ${limit}
      offset ${skip}
    ) as oldest
    where oldest.created_at < now() - make_interval(days => ${days})
  `
  return rows.map(({ id }) => id)
}

/** Deletes pre-partition messages and queues their files. Their conversations then start after them. */
export async function deleteMessages(db: Db, companyId: number, ids: readonly number[]): Promise<void> {
  await db`
    with target as materialized (
      select id, conversation_id, seq, wamid
      from messages
      where company_id = ${companyId} and id = any(${[...ids]}::bigint[])
      order by id
      for update
    ),
    released as (
      update uploads upload
      set due_at = now()
      from target
      join media on (media.company_id, media.message_id) = (${companyId}, target.id)
      where (upload.company_id, upload.id) = (media.company_id, media.upload_id)
    ),
    copy as (
      delete from media using target where (media.company_id, media.message_id) = (${companyId}, target.id)
      returning media.storage_key
    ),
    discarded as (
      insert into discarded_files (company_id, storage_key)
      select ${companyId}, storage_key from copy
      on conflict do nothing
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
      set
        expired_count = greatest(conversation.expired_count, last.seq),
        last_text = case when conversation.message_count > last.seq then conversation.last_text end,
        last_direction = case when conversation.message_count > last.seq then conversation.last_direction end,
        last_message_at = case when conversation.message_count > last.seq then conversation.last_message_at end,
        referral = case when conversation.message_count > last.seq then conversation.referral end
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

const areExpired = (id: Fragment, days: number) => sql`
  ${id} >= ${IDS_A_MONTH}::bigint and ${id} < message_id_floor(now() - make_interval(days => ${days}))
`

/** Returns companies with rows for expired months. */
export async function listCompaniesWithExpired(
  db: Db,
  table: 'media' | 'message_status_events',
  days: number,
  limit: number,
): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select company.id
    from companies company
    where exists (
      select from ${db(table)} as stored
      where stored.company_id = company.id and ${areExpired(sql`stored.message_id`, days)}
    )
    order by company.id
    limit ${limit}
  `
  return rows.map(({ id }) => id)
}

/** Deletes the oldest media rows in expired months and queues their files; returns how many. Their uploads fall due. */
export async function expireMedia(
  db: Db,
  companyId: number,
  days: number,
  { limit, skip }: ExpiryBatch,
): Promise<number> {
  const [row] = await db<[{ count: number }]>`
    with deleted as (
      delete from media
      where (company_id, message_id) in (
        select company_id, message_id
        from media
        where company_id = ${companyId} and ${areExpired(sql`message_id`, days)}
        order by message_id
        limit ${limit}
        offset ${skip}
      )
      returning upload_id, storage_key
    ),
    discarded as (
      insert into discarded_files (company_id, storage_key)
      select ${companyId}, storage_key from deleted
      on conflict do nothing
    ),
    released as (
      update uploads upload
      set due_at = now()
      from deleted
      where upload.company_id = ${companyId} and upload.id = deleted.upload_id
    )
    select count(*)::integer as count from deleted
  `
  return row.count
}

export async function expireStatusEvents(
  db: Db,
  companyId: number,
  days: number,
  { limit, skip }: ExpiryBatch,
): Promise<number> {
  const expired = await db`
    delete from message_status_events
    where (company_id, message_id, status) in (
      select company_id, message_id, status
      from message_status_events
      where company_id = ${companyId} and ${areExpired(sql`message_id`, days)}
      order by message_id, status
      limit ${limit}
      offset ${skip}
    )
  `
  return expired.count
}

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
      set
        expired_count = last.seq,
        last_text = case when conversation.message_count > last.seq then conversation.last_text end,
        last_direction = case when conversation.message_count > last.seq then conversation.last_direction end,
        last_message_at = case when conversation.message_count > last.seq then conversation.last_message_at end,
        referral = case when conversation.message_count > last.seq then conversation.referral end
      from last
      where (conversation.company_id, conversation.id) = (last.company_id, last.id)
        and conversation.expired_count < last.seq
    )
    select last.company_id, last.id from last order by last.place desc limit 1
  `
  return last
}
