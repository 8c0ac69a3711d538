import { type Db, jsonRows } from '../db/connect.ts'
import { type StatusRecord, storeWaitingStatuses } from './waiting-status-store.ts'

/** Something that a customer, or the business in its phone app, wrote. */
export type InboundRecord = {
  companyId: number
  senderId: number
  kind: 'message' | 'echo' | 'reaction'
  /** The customer's identity, and his second one where the event gives two. */
  customer: string
  other: string | null
  phone: string | null
  profileName: string | null
  wamid: string | null
  type: string
  text: string | null
  media: object | null
  targetWamid: string | null
  emoji: string | null
  sentAt: Date | null
  arrivedAt: Date
  opensWindow: boolean
  senderName: string | null
  sourceType: string
}

export type Recorded = { isNew: boolean; conversationId: number | null; messageId: number | null }

/** Writes many records in the order given and answers in that order. */
export async function recordInbound(tx: Db, records: readonly InboundRecord[], at: Date): Promise<Recorded[]> {
  const batches = splitByCustomer(records)
  if (batches.length > 1) await lockCustomers(tx, records)
  const recorded: Recorded[] = []
  for (const batch of batches) {
    for (let done = 0; done < batch.length; ) {
      const results = await recordBatch(tx, batch.slice(done), recorded.length, at)
      recorded.push(...results)
      done += results.length
    }
  }
  return recorded
}

/**
 * Cuts where a customer comes under other identities than before: who he is was decided by what came earlier, which the
 * database must have seen (sql: record_inbound).
 */
function splitByCustomer(records: readonly InboundRecord[]): InboundRecord[][] {
  const batches: InboundRecord[][] = []
  let known = new Map<string, string>()
  for (const record of records) {
    const { companyId, customer, other } = record
    const names = [customer, other].filter((name) => name !== null).map((name) => `${companyId} ${name}`)
    const person = names.join(' ')
    const batch = batches.at(-1)
    if (batch !== undefined && names.every((name) => (known.get(name) ?? person) === person)) batch.push(record)
    else {
      batches.push([record])
      known = new Map()
    }
    for (const name of names) known.set(name, person)
  }
  return batches
}

/** All at once, so that transactions which write in several steps never wait for each other in a circle. */
async function lockCustomers(tx: Db, records: readonly InboundRecord[]): Promise<void> {
  const people = records.flatMap(({ companyId, customer, other }) =>
    [customer, other].filter((identity) => identity !== null).map((identity) => ({ company_id: companyId, identity })),
  )
  await tx`
    select lock_customers_and_partners(array_agg(customer))
    from jsonb_populate_recordset(null::customer_key, ${jsonRows(tx, people)}) as customer
  `
}

function recordBatch(tx: Db, records: readonly InboundRecord[], before: number, at: Date): Promise<Recorded[]> {
  const items = records.map((record, index) => ({
    ord: index + 1,
    company_id: record.companyId,
    sender_id: record.senderId,
    kind: record.kind,
    customer: record.customer,
    other: record.other,
    phone: record.phone,
    profile_name: record.profileName,
    wamid: record.wamid,
    type: record.type,
    text: record.text,
    media: record.media,
    target_wamid: record.targetWamid,
    emoji: record.emoji,
    sent: record.sentAt && toSeconds(record.sentAt),
    arrived: toSeconds(record.arrivedAt),
    opens_window: record.opensWindow,
    sender_name: record.senderName,
  }))
  return tx<Recorded[]>`
    select is_new, conversation_id, message_id
    from record_inbound(${jsonRows(tx, items)}, ${records[0]?.sourceType ?? ''}, ${before}, ${at})
    order by ord
  `
}

const toSeconds = (date: Date): number => date.getTime() / 1_000

/**
 * Keeps the statuses of our own messages as events and moves the messages forward: any order, repeated or not, ends in
 * the same state. Statuses of other tools' messages match nothing.
 */
export async function recordStatuses(
  tx: Db,
  records: readonly StatusRecord[],
  at: Date,
): Promise<{ companyId: number; id: number }[]> {
  if (records.length === 0) return []
  const items = records.map((record, ord) => ({
    ord,
    company_id: record.companyId,
    sender_id: record.senderId,
    wamid: record.wamid,
    provider_message_id: record.providerMessageId,
    message_id: record.messageId,
    status: record.status,
    occurred_at: record.occurredAt,
    error: record.error,
  }))
  const moved = await tx<{ companyId: number; id: number }[]>`
    with told as materialized (
      select *
      from jsonb_to_recordset(${jsonRows(tx, items)}) as told (
        ord integer, company_id bigint, sender_id bigint, wamid text, provider_message_id text, message_id bigint,
        status text,
        occurred_at timestamptz, error jsonb
      )
    ),
    matched as materialized (
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
    ),
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
