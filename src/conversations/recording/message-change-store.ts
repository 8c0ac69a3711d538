import { type Db, jsonRows } from '../../db/connect.ts'
import { applyMessageChanges } from './inbound-store.ts'

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
  const rows = naming.map((change) => ({
    company_id: change.companyId,
    wamid: change.wamid,
    sender_id: change.senderId,
    direction: change.direction,
    writers: change.writers,
    shown_writer: change.shownWriter,
    target_wamid: change.targetWamid,
    kind: change.kind,
    text: change.text,
    occurred_at: change.occurredAt,
    arrived_at: change.arrivedAt,
  }))
  const inserted = await tx<{ companyId: number; wamid: string }[]>`
    insert into message_changes (
      company_id, wamid, sender_id, direction, writers, shown_writer, target_wamid, kind, text, occurred_at, look_at
    )
    select
      company_id, wamid, sender_id, direction, writers, shown_writer, target_wamid, kind, text, occurred_at,
      case when not exists (
        select from messages message where (message.company_id, message.wamid) = (change.company_id, change.target_wamid)
      ) then now() end
    from rows from (
      jsonb_to_recordset(${jsonRows(tx, rows)}) as (
        company_id bigint, wamid text, sender_id bigint, direction text, writers text[], shown_writer text,
        target_wamid text, kind text, text text, occurred_at timestamptz, arrived_at timestamptz
      )
    ) with ordinality as change (
      company_id, wamid, sender_id, direction, writers, shown_writer, target_wamid, kind, text, occurred_at, arrived_at, place
    )
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
  const rows = changes.map(({ companyId, wamid, writers, arrivedAt }, place) => ({
    place,
    company_id: companyId,
    wamid,
    writers,
    arrived_at: arrivedAt,
  }))
  const erased = await tx<{ place: number }[]>`
    select place
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as change (
      place integer, company_id bigint, wamid text, writers text[], arrived_at timestamptz
    )
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
  const rows = due.map((change) => ({ company_id: change.companyId, wamid: change.wamid, is_found: isFound(change) }))
  await tx`
    update message_changes change
    set look_at = case
      when not input.is_found and change.created_at > now() - interval '1 day'
      then now() + greatest(now() - change.created_at, interval '1 second')
    end
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, wamid text, is_found boolean)
    where (change.company_id, change.wamid) = (input.company_id, input.wamid)
  `
}

export type TargetMessage = { companyId: number; wamid: string; id: number; conversationId: number }

export async function findTargets(
  tx: Db,
  targets: readonly { companyId: number; targetWamid: string | null }[],
): Promise<TargetMessage[]> {
  const rows = targets.flatMap(({ companyId, targetWamid }) =>
    targetWamid === null ? [] : [{ company_id: companyId, wamid: targetWamid }],
  )
  if (rows.length === 0) return []
  return tx<TargetMessage[]>`
    select message.company_id, target.wamid, message.id, message.conversation_id
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as target (company_id bigint, wamid text)
    cross join lateral (
      select existing.company_id, existing.id, existing.conversation_id
      from messages existing
      where (existing.company_id, existing.wamid) = (target.company_id, target.wamid)
      order by existing.id desc
      limit 1
    ) as message
  `
}
