import type { Db } from '../db/connect.ts'
import type { ExpiryBatch } from '../db/lifetime-store.ts'
import { IDS_A_MONTH } from './message-month.ts'

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
