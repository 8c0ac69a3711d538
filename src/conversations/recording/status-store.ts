import type { RecordChange } from '../../changes/record-change.ts'
import { type Db, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { isAmong, isRecent, lockMessages, removeSentReactions } from '../message-store.ts'
import { BILLABLE, type CountedChange, countChanges, countersOf } from '../usage/usage.ts'
import { addUsage } from '../usage/usage-store.ts'
import { readUpTo } from './conversation-write-store.ts'
import { type StatusRecord, settleWaitingStatuses } from './waiting-store.ts'

export type MovedMessage = {
  companyId: number
  id: number
  before: string
  after: string
  /** Reported together with the later status `after`. */
  failure: { error: StatusRecord['error'] } | null
  /** First report that the provider accepted the message. */
  isFirstSent: boolean
}

export type RecordedStatuses = {
  moved: MovedMessage[]
  matches: StatusMatch[]
  failed: { companyId: number; id: number; code: number | null }[]
}

/**
 * Stores statuses, advances messages and counts usage. Order and repeats don't matter: the highest rank wins, counters
 * count each message once. Statuses without known message wait, as do `unlearnt` ones, whose message was unknown in the
 * recipient lookup.
 */
export async function recordStatuses(
  tx: Db,
  records: readonly StatusRecord[],
  at: Date,
  unlearnt: ReadonlySet<StatusRecord> = new Set(),
): Promise<RecordedStatuses> {
  if (records.length === 0) return { moved: [], matches: [], failed: [] }
  const matches = await matchOrKeep(tx, records, unlearnt)
  if (matches.length > 0) await lockMessages(tx, matches)
  const advanced = matches.length === 0 ? [] : await advanceMessages(tx, records, matches, at)
  await addUsage(tx, countChanges(advanced))
  const reached = advanced.filter(({ before, after }) => UNREACHED.includes(before) && !UNREACHED.includes(after))
  if (reached.length > 0) await readUpTo(tx, reached)
  const failed = advanced.filter(({ before, after }) => after === 'failed' && before !== after)
  if (failed.length > 0) await removeSentReactions(tx, failed)
  const found = new Set(matches.map(({ ord }) => records[ord]))
  await settleWaitingStatuses(tx, records, (record) => found.has(record) && !unlearnt.has(record))
  const moved = advanced
    .filter(({ isShown }) => isShown)
    .map(({ companyId, id, before, after, failure, isFirstSent }) => ({
      ...{ companyId, id, before, after, failure, isFirstSent },
    }))
  return { moved, matches, failed: failed.map(({ companyId, id, code }) => ({ companyId, id, code })) }
}

/** May have reached nobody, so doesn't mark the conversation as read. */
const UNREACHED = ['pending', 'failed']

type AdvancedMessage = MovedMessage & CountedChange & { isShown: boolean; code: number | null }

type StatusMatch = { ord: number; companyId: number; id: number }

/** Must not lock: see `lockMessages`. */
const advanceMessages = (tx: Db, records: readonly StatusRecord[], matches: readonly StatusMatch[], at: Date) => tx<
  AdvancedMessage[]
>`
  with matched as materialized (
    select input.ord, input.company_id, input.message_id, input.wamid, input.status, input.occurred_at,
      input.error, input.pricing, input.counters
    from ${inputRows(toMatchedRows(records, matches), {
      integer: ['ord'],
      bigint: ['companyId', 'messageId'],
      text: ['wamid', 'status'],
      timestamptz: ['occurredAt'],
      jsonb: ['error', 'pricing'],
      smallint: ['counters'],
    })}
  ),
  stored as (${keepEvents}),
  furthest as (${furthestStatuses(at)}),
  before as materialized (
    select message.company_id, message.id, message.status, message.wamid, message.pricing, message.priced_at,
      coalesce(message.counted, 0) as counted,
      message.wamid is not null or message.provider_message_id is not null or message.status in ('sent', 'delivered', 'read')
        as was_sent
    from furthest
    join messages message on (message.company_id, message.id) = (furthest.company_id, furthest.message_id)
    where ${isAmong(matches.map(idOf))}
  )
  update messages message
  set
    wamid = coalesce(message.wamid, furthest.reported_wamid),
    status = case when progress.is_new then furthest.status else message.status end,
    error = case when progress.is_new then furthest.error else message.error end,
    pricing = case when progress.is_priced then furthest.reported_pricing else message.pricing end,
    priced_at = case when progress.is_priced then furthest.priced_at else message.priced_at end,
    counted = progress.counted,
    updated_at = ${at}
  from furthest
  join before on (before.company_id, before.id) = (furthest.company_id, furthest.message_id)
  cross join lateral (
    select
      furthest.status is not null and message_status_rank(furthest.status) > message_status_rank(before.status) as is_new,
      furthest.reported_pricing is distinct from before.pricing and furthest.priced_at >= coalesce(before.priced_at, '-infinity')
        as is_priced,
      before.wamid is null and furthest.reported_wamid is not null as is_named
  ) as change
  cross join lateral (
    select
      change.*,
      case when change.is_priced
        then (before.counted | furthest.reported_counters) & ~${BILLABLE}::integer
          | case when (furthest.reported_pricing ->> 'billable')::boolean then ${BILLABLE}::integer else 0 end
        else before.counted | furthest.reported_counters
      end as counted
  ) as progress
  where (message.company_id, message.id) = (furthest.company_id, furthest.message_id)
    and ${isAmong(matches.map(idOf))}
    and (progress.is_new or progress.is_priced or progress.is_named or progress.counted <> before.counted)
  returning
    message.company_id, message.id, before.status as before, message.status as after,
    progress.is_new or progress.is_priced or progress.is_named as is_shown,
    (message.error ->> 'code')::bigint as code,
    case when furthest.has_failed
      and message_status_rank('failed') > message_status_rank(before.status)
      and message_status_rank('failed') < message_status_rank(furthest.status)
    then jsonb_build_object('error', furthest.failure_error) end as failure,
    furthest.status is not null and not before.was_sent as is_first_sent,
    (
      select conversation.sender_id
      from conversations conversation
      where (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
    ),
    to_char(least(message.sent_at, message.created_at) at time zone 'UTC', 'YYYY-MM-DD') as day,
    message.template, message.category, before.pricing ->> 'category' as priced_before,
    message.pricing ->> 'category' as priced_after, before.counted as counted_before, message.counted as counted_after
`

const keepEvents = sql`
  insert into message_status_events (company_id, message_id, status, occurred_at, error)
  select distinct on (matched.company_id, matched.message_id, matched.status)
    matched.company_id, matched.message_id, matched.status, matched.occurred_at, matched.error
  from matched
  where matched.status is not null
  order by matched.company_id, matched.message_id, matched.status, matched.ord
  on conflict do nothing
`

/** Each message's highest status, with the data of all its statuses; the last pricing wins. */
const furthestStatuses = (at: Date) => sql`
  select distinct on (matched.company_id, matched.message_id)
    matched.company_id, matched.message_id, matched.status, matched.error,
    max(matched.wamid) over of_message as reported_wamid,
    bit_or(matched.counters) over of_message as reported_counters,
    first_value(matched.pricing) over by_pricing as reported_pricing,
    case when bool_or(matched.pricing is not null) over of_message
      then first_value(coalesce(matched.occurred_at, ${at}::timestamptz)) over by_pricing
    end as priced_at,
    bool_or(matched.status = 'failed') over of_message as has_failed,
    first_value(matched.error) over (of_message order by matched.status is distinct from 'failed', matched.ord) as failure_error
  from matched
  window
    of_message as (partition by matched.company_id, matched.message_id),
    by_pricing as (of_message order by
      matched.pricing is null, coalesce(matched.occurred_at, ${at}::timestamptz) desc, matched.ord desc
    )
  order by matched.company_id, matched.message_id, message_status_rank(coalesce(matched.status, '')) desc, matched.ord
`

/**
 * Matches by wamid, our id or the provider's id. Keeps unmatched statuses in the same statement, so a concurrently
 * committed message finds them or is found on the next lookup.
 */
const matchOrKeep = (tx: Db, records: readonly StatusRecord[], unlearnt: ReadonlySet<StatusRecord>) => tx<
  StatusMatch[]
>`
  with reported as materialized (
    select *
    from ${inputRows(
      records.map((record, ord) => ({ ...toRow(record, ord), isUnlearnt: unlearnt.has(record) })),
      {
        integer: ['ord'],
        boolean: ['isUnlearnt'],
        bigint: ['waitingId', 'companyId', 'senderId', 'messageId'],
        text: ['wamid', 'providerMessageId', 'status', 'recipientPhone'],
        jsonb: ['error', 'pricing'],
        timestamptz: ['occurredAt', 'arrivedAt'],
        'text[]': ['identities'],
      },
      'reported',
    )}
  ),
  matched as materialized (
    select reported.ord, message.company_id, message.id
    from reported
    join messages message on (message.company_id, message.wamid) = (reported.company_id, reported.wamid)
    where message.direction = 'outbound' and ${isRecent()}
    union
    -- The send's own answer was lost or is still to come: the message knows no wamid yet, but its id came back.
    select reported.ord, message.company_id, message.id
    from reported
    join messages message on (message.company_id, message.id) = (reported.company_id, reported.message_id)
    join conversations conversation
      on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
      and conversation.sender_id = reported.sender_id
    where message.direction = 'outbound' and message.wamid is null and ${isRecent()}
    union
    select reported.ord, message.company_id, message.id
    from reported
    join messages message
      on (message.company_id, message.provider_message_id) = (reported.company_id, reported.provider_message_id)
    where message.direction = 'outbound' and ${isRecent()}
  ),
  kept as (
    insert into waiting_statuses (
      company_id, sender_id, provider_message_id, wamid, status, error, pricing, occurred_at, recipient_phone, recipients
    )
    select
      company_id, sender_id, provider_message_id, wamid, status, error, pricing, occurred_at,
      recipient_phone, identities
    from reported
    where waiting_id is null
      and coalesce(wamid, provider_message_id) is not null
      and (is_unlearnt or not exists (select from matched where matched.ord = reported.ord))
      and not is_erased(company_id, array_remove(array[wamid, provider_message_id], null), identities, arrived_at)
    order by ord
  )
  select ord, company_id, id from matched
`

const toMatchedRows = (records: readonly StatusRecord[], matches: readonly StatusMatch[]) =>
  matches.flatMap(({ ord, id }) =>
    records.slice(ord, ord + 1).map((record) => ({ ...toRow(record, ord), messageId: id })),
  )

const idOf = ({ id }: { id: number }) => id

const toRow = (record: StatusRecord, ord: number) => ({
  ord,
  companyId: record.companyId,
  senderId: record.senderId,
  wamid: record.wamid,
  providerMessageId: record.providerMessageId,
  messageId: record.messageId,
  waitingId: record.waitingId,
  status: record.status,
  occurredAt: record.occurredAt,
  arrivedAt: record.arrivedAt,
  recipientPhone: record.recipientPhone,
  identities: record.identities,
  error: record.error,
  pricing: record.pricing,
  counters: countersOf(record.status),
})

export const toStatusChange = (moved: MovedMessage): RecordChange => ({ event: 'whatsapp.message.status', ...moved })

/** Locks messages; the returned function lists status changes since. */
export async function watchStatuses(
  tx: Db,
  messages: readonly { companyId: number; messageId: number }[],
): Promise<() => Promise<RecordChange[]>> {
  const keys = messages.map(({ companyId, messageId }) => ({ companyId, id: messageId }))
  const earlier = await lockMessages(tx, keys)
  return async () =>
    (await lockMessages(tx, keys)).map(({ companyId, id, status: after }, place) => {
      const before = earlier[place]?.status ?? after
      return toStatusChange({
        companyId,
        id,
        before,
        after,
        failure: null,
        isFirstSent: before !== after && after === 'sent',
      })
    })
}
