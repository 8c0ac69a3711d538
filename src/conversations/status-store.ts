import { type Db, jsonRows } from '../db/connect.ts'
import { type StatusRecord, storeWaitingStatuses } from './waiting-status-store.ts'

/**
 * Stores the statuses of sent messages as events and advances the messages. Order and repetitions do not change the result: the
 * status with the highest rank wins. Statuses of messages that another tool sent match nothing. Returns the changed messages.
 */
export async function recordStatuses(
  tx: Db,
  records: readonly StatusRecord[],
  at: Date,
): Promise<{ companyId: number; id: number }[]> {
  if (records.length === 0) return []
  const moved = await tx<{ companyId: number; id: number }[]>`
    with told as materialized (
      select *
      from jsonb_to_recordset(${jsonRows(tx, records.map(toRow))}) as told (
        ord integer, company_id bigint, sender_id bigint, wamid text, provider_message_id text, message_id bigint,
        status text,
        occurred_at timestamptz, error jsonb
      )
    ),
    matched as materialized (${matchedMessages(tx)}),
    kept as (
      insert into message_status_events (company_id, message_id, status, occurred_at, error)
      select distinct on (matched.company_id, matched.message_id, matched.status)
        matched.company_id, matched.message_id, matched.status, matched.occurred_at, matched.error
      from matched
      where matched.status is not null
      order by matched.company_id, matched.message_id, matched.status, matched.ord
      on conflict do nothing
    ),
    furthest as (
      select distinct on (matched.company_id, matched.message_id)
        matched.*,
        max(matched.wamid) over (partition by matched.company_id, matched.message_id) as told_wamid
      from matched
      order by matched.company_id, matched.message_id, message_status_rank(coalesce(matched.status, '')) desc,
        matched.ord
    ),
    locked as materialized (
      select message.company_id, message.id, message.status
      from messages message
      join furthest on (furthest.company_id, furthest.message_id) = (message.company_id, message.id)
      order by message.company_id, message.id
      for update of message
    )
    update messages message
    set
      wamid = coalesce(message.wamid, furthest.told_wamid),
      status = case when progress.is_new then furthest.status else message.status end,
      error = case when progress.is_new then furthest.error else message.error end,
      updated_at = ${at}
    from furthest
    join locked on (locked.company_id, locked.id) = (furthest.company_id, furthest.message_id)
    cross join lateral (
      select
        furthest.status is not null and message_status_rank(furthest.status) > message_status_rank(locked.status) as is_new
    ) as progress
    where (message.company_id, message.id) = (furthest.company_id, furthest.message_id)
      and (progress.is_new or (message.wamid is null and furthest.told_wamid is not null))
    returning message.company_id, message.id
  `
  const byProviderId = records.filter(({ providerMessageId }) => providerMessageId !== null)
  if (byProviderId.length > 0) await storeWaitingStatuses(tx, byProviderId)
  return moved
}

/** The outbound messages that the statuses name: by wamid, by our id, or by the provider's own id. */
const matchedMessages = (tx: Db) => tx`
  select told.ord, message.company_id, message.id as message_id, told.wamid, told.status, told.occurred_at,
    nullif(told.error, 'null') as error
  from told
  join messages message on (message.company_id, message.wamid) = (told.company_id, told.wamid)
  where message.direction = 'outbound'
  union
  -- The send's own answer was lost or is still to come: the message knows no wamid yet, but its id came back.
  select told.ord, message.company_id, message.id, told.wamid, told.status, told.occurred_at,
    nullif(told.error, 'null')
  from told
  join messages message on (message.company_id, message.id) = (told.company_id, told.message_id)
  join conversations conversation
    on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
    and conversation.sender_id = told.sender_id
  where message.direction = 'outbound' and message.wamid is null
  union
  select told.ord, message.company_id, message.id, told.wamid, told.status, told.occurred_at,
    nullif(told.error, 'null')
  from told
  join messages message
    on (message.company_id, message.provider_message_id) = (told.company_id, told.provider_message_id)
  where message.direction = 'outbound'
`

const toRow = (record: StatusRecord, ord: number) => ({
  ord,
  company_id: record.companyId,
  sender_id: record.senderId,
  wamid: record.wamid,
  provider_message_id: record.providerMessageId,
  message_id: record.messageId,
  status: record.status,
  occurred_at: record.occurredAt,
  error: record.error,
})
