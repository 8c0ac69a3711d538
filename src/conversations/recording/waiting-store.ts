import { type Db, sql } from '../../db/connect.ts'
import { inputRows, placedRows } from '../../db/input-rows.ts'
import { applyMessageChanges, type TargetMessage } from '../message-store.ts'
import type { MessagePricing } from '../usage/usage.ts'

export type MessageChange = {
  companyId: number
  senderId: number
  /** Of the target message. */
  direction: 'inbound' | 'outbound'
  /** Identities of the customer behind the change, or behind the business's target message. */
  writers: readonly string[]
  /** That customer's `senderName` in groups. */
  shownWriter: string | null
  wamid: string | null
  targetWamid: string | null
  kind: 'edit' | 'revoke'
  text: string | null
  occurredAt: Date
  arrivedAt: Date
}

/** Stores and applies edits and revokes; some wait for their message (decisions: Identity). Returns which are new. */
export async function recordMessageChanges(tx: Db, changes: readonly MessageChange[], at: Date): Promise<boolean[]> {
  const naming = changes.filter((change) => change.wamid !== null && change.targetWamid !== null)
  const erased = await findErased(
    tx,
    changes.filter((change) => !naming.includes(change)),
  )
  if (naming.length === 0) return changes.map((change) => !erased.has(change))
  const input = placedRows(
    naming,
    {
      bigint: ['companyId', 'senderId'],
      text: ['wamid', 'direction', 'shownWriter', 'targetWamid', 'kind', 'text'],
      'text[]': ['writers'],
      timestamptz: ['occurredAt', 'arrivedAt'],
    },
    'change',
  )
  const inserted = await tx<{ companyId: number; wamid: string }[]>`
    insert into message_changes (
      company_id, wamid, sender_id, direction, writers, shown_writer, target_wamid, kind, text, occurred_at, look_at
    )
    select
      company_id, wamid, sender_id, direction, writers, shown_writer, target_wamid, kind, text, occurred_at,
      case when not exists (
        select from messages message where (message.company_id, message.wamid) = (change.company_id, change.target_wamid)
      ) then now() end
    from ${input}
    where not is_erased(company_id, array[wamid, target_wamid], writers, arrived_at)
    order by place
    on conflict do nothing
    returning company_id, wamid
  `
  await applyMessageChanges(
    tx,
    naming.flatMap(({ companyId, targetWamid }) => (targetWamid === null ? [] : [{ companyId, wamid: targetWamid }])),
    at,
  )
  const isKept = new Set(inserted.map(({ companyId, wamid }) => `${companyId} ${wamid}`))
  return changes.map((change) =>
    naming.includes(change) ? isKept.delete(`${change.companyId} ${change.wamid}`) : !erased.has(change),
  )
}

/** Targets erased messages, or people erased after the change arrived. */
async function findErased(tx: Db, changes: readonly MessageChange[]): Promise<Set<MessageChange>> {
  if (changes.length === 0) return new Set()
  const input = inputRows(
    changes.map((change, place) => ({ ...change, place })),
    { integer: ['place'], bigint: ['companyId'], text: ['wamid'], 'text[]': ['writers'], timestamptz: ['arrivedAt'] },
  )
  const erased = await tx<{ place: number }[]>`
    select place
    from ${input}
    where is_erased(company_id, array_remove(array[wamid], null), writers, arrived_at)
  `
  const places = new Set(erased.map(({ place }) => place))
  return new Set(changes.filter((_, place) => places.has(place)))
}

export type WaitingChange = { companyId: number; wamid: string; targetWamid: string }

export const lockDueChanges = (tx: Db, limit: number): Promise<WaitingChange[]> => tx<WaitingChange[]>`
  select company_id, wamid, target_wamid
  from message_changes
  where look_at <= now()
  order by look_at, company_id, wamid
  limit ${limit}
  for update skip locked
`

/** Applies waiting changes whose message was committed concurrently; postpones the others. Returns the messages. */
export async function applyWaitingChanges(tx: Db, due: readonly WaitingChange[], at: Date): Promise<TargetMessage[]> {
  const found = await findTargets(tx, due)
  const names = new Set(found.map(({ companyId, wamid }) => `${companyId} ${wamid}`))
  await postponeChanges(tx, due, ({ companyId, targetWamid }) => names.has(`${companyId} ${targetWamid}`))
  if (found.length > 0) await applyMessageChanges(tx, found, at)
  return found
}

/** Doubles each change's wait, for up to a day; found ones are done. */
export async function postponeChanges(
  tx: Db,
  due: readonly WaitingChange[],
  isFound: (change: WaitingChange) => boolean = () => false,
): Promise<void> {
  const rows = due.map((change) => ({ ...change, isFound: isFound(change) }))
  await tx`
    update message_changes change
    set look_at = case
      when not input.is_found and change.created_at > now() - interval '1 day'
      then now() + greatest(now() - change.created_at, interval '1 second')
    end
    from ${inputRows(rows, { bigint: ['companyId'], text: ['wamid'], boolean: ['isFound'] })}
    where (change.company_id, change.wamid) = (input.company_id, input.wamid)
  `
}

export async function findTargets(
  tx: Db,
  targets: readonly { companyId: number; targetWamid: string | null }[],
): Promise<TargetMessage[]> {
  const rows = targets.flatMap(({ companyId, targetWamid }) =>
    targetWamid === null ? [] : [{ companyId, wamid: targetWamid }],
  )
  if (rows.length === 0) return []
  return tx<TargetMessage[]>`
    select message.company_id, target.wamid, message.id, message.conversation_id
    from ${inputRows(rows, { bigint: ['companyId'], text: ['wamid'] }, 'target')}
    cross join lateral (
      select existing.company_id, existing.id, existing.conversation_id
      from messages existing
      where (existing.company_id, existing.wamid) = (target.company_id, target.wamid)
      order by existing.id desc
      limit 1
    ) as message
  `
}

export type StatusRecord = {
  companyId: number
  /** Null: stored by an earlier version. */
  senderId: number | null
  wamid: string | null
  /** Used by some providers besides the wamid. */
  providerMessageId: string | null
  messageId: number | null
  /** Null: the provider reported only the wamid. */
  status: 'sent' | 'delivered' | 'read' | 'failed' | null
  occurredAt: Date | null
  arrivedAt: Date
  /** Digits; in groups, the participant's. */
  recipientPhone: string | null
  identities: readonly string[]
  pricing: MessagePricing | null
  error: { code: number | null; title: string | null; details: string | null } | null
  /** Null: not stored, arriving now. */
  waitingId: number | null
}

const columns = sql`
  waiting.company_id, waiting.sender_id, waiting.wamid, waiting.provider_message_id, null::bigint as message_id, waiting.status,
  waiting.occurred_at, waiting.created_at as arrived_at, waiting.recipient_phone,
  coalesce(waiting.recipients, '{}') as identities, waiting.pricing, waiting.error
`

export const lockDueStatuses = (tx: Db, limit: number): Promise<StatusRecord[]> => tx<StatusRecord[]>`
  select ${columns}, waiting.id as waiting_id
  from waiting_statuses waiting
  where waiting.look_at <= now()
  order by waiting.look_at, waiting.company_id, waiting.id
  limit ${limit}
  for update skip locked
`

/** Deletes matched statuses; others double their wait. */
export async function settleWaitingStatuses(
  tx: Db,
  records: readonly StatusRecord[],
  isFound: (record: StatusRecord) => boolean,
): Promise<void> {
  const rows = records.flatMap((record) =>
    record.waitingId === null ? [] : [{ companyId: record.companyId, id: record.waitingId, isFound: isFound(record) }],
  )
  if (rows.length === 0) return
  await tx`
    with input as materialized (
      select * from ${inputRows(rows, { bigint: ['companyId', 'id'], boolean: ['isFound'] })}
    ),
    found as (
      delete from waiting_statuses waiting
      using input
      where input.is_found and (waiting.company_id, waiting.id) = (input.company_id, input.id)
    )
    update waiting_statuses waiting
    set look_at = now() + greatest(now() - waiting.created_at, interval '1 second')
    from input
    where not input.is_found and (waiting.company_id, waiting.id) = (input.company_id, input.id)
  `
}

/** Takes statuses waiting for messages about to be recorded. */
export async function takeWaitingStatuses(
  tx: Db,
  messages: readonly { companyId: number; wamid: string }[],
): Promise<StatusRecord[]> {
  if (messages.length === 0) return []
  return await tx<StatusRecord[]>`
    delete from waiting_statuses waiting
    using ${inputRows(messages, { bigint: ['companyId'], text: ['wamid'] })}
    where (waiting.company_id, waiting.wamid) = (input.company_id, input.wamid)
    returning ${columns}, null::bigint as waiting_id
  `
}
