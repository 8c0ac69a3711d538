import { type Db, type Fragment, sql } from '../db/connect.ts'
import { inputRows, placedRows, recordKeyOf } from '../db/input-rows.ts'
import { systemClock } from '../platform/clock.ts'
import type { VoiceCall } from '../providers/events/event-item.ts'

/** A message id is its UTC month since January 1970 times this, plus a number. */
export const IDS_A_MONTH = 1_000_000_000_000

const FIRST_YEAR = 1970
const DAY_MS = 86_400_000

export const monthOf = (at: Date): number => (at.getUTCFullYear() - FIRST_YEAR) * 12 + at.getUTCMonth()

/** Returns 0 for pre-partition messages. */
export const monthOfId = (id: number): number => Math.floor(id / IDS_A_MONTH)

/** The provider repeats events for 7 days and delivers for 30; read receipts can follow later. */
const RECENT_DAYS = 62

/**
 * Restricts a statement to the last two months and pre-partition messages, to avoid probing every month's index.
 * Must be literal text, which changes monthly, for plan-time pruning: with run-time pruning by a parameter or `now()`,
 * PostgreSQL 18.4 skips rows when rechecking a concurrently changed row renumbers the partitions.
 */
export const isRecent = (): Fragment => {
  const first = monthOf(new Date(systemClock.now().getTime() - RECENT_DAYS * DAY_MS)) * IDS_A_MONTH
  return sql`(message.id >= ${sql.unsafe(String(first))} or message.id < 1000000000000)`
}

/** Matches messages since a time, by any clock at most a day ahead. */
export const isSince = (from: Date): Fragment => {
  const first = monthOf(new Date(from.getTime() - DAY_MS)) * IDS_A_MONTH
  return sql`(message.id >= ${first}::bigint or message.id < 1000000000000)`
}

/** Matches the months of these ids; literal text, as in `isRecent`. */
export const isAmong = (ids: readonly number[]): Fragment => {
  const months = [...new Set(ids.map(monthOfId))].toSorted((a, b) => a - b)
  if (months.length === 0) return sql`false`
  const ranges = months.map((month) => `message.id between ${month * IDS_A_MONTH} and ${(month + 1) * IDS_A_MONTH - 1}`)
  return sql`(${sql.unsafe(ranges.join(' or '))})`
}

type MessageId = { companyId: number; id: number }

/**
 * Locks messages in key order and reads statuses. Must not join: PostgreSQL 18.4 crashes if a statement locks a
 * concurrently changed row, then looks up a partition by another row's value (docs/decisions/0016).
 */
export async function lockMessages(
  tx: Db,
  messages: readonly MessageId[],
): Promise<(MessageId & { status: string })[]> {
  const ids = messages.map(({ id }) => id)
  const locked = await tx<(MessageId & { status: string })[]>`
    select company_id, id, status
    from messages message
    where message.company_id = any(${messages.map(({ companyId }) => companyId)}::bigint[])
      and message.id = any(${ids}::bigint[])
      and ${isAmong(ids)}
    order by message.company_id, message.id
    for no key update
  `
  const keys = new Set(messages.map(recordKeyOf))
  return locked.filter((message) => keys.has(recordKeyOf(message)))
}

type MessageWrite = {
  companyId: number
  id: number
  conversationId: number
  seq: number
  isEcho: boolean
  type: string
  messageKind: string | null
  text: string | null
  media: object | null
  senderName: string | null
  wamid: string | null
  sentAt: Date | null
  content: object | null
  context: object | null
  error: object | null
  quotedWamid: string | null
}

export async function insertMessages(tx: Db, messages: readonly MessageWrite[], at: Date): Promise<void> {
  const input = inputRows(messages, {
    bigint: ['companyId', 'id', 'conversationId', 'seq'],
    boolean: ['isEcho'],
    text: ['type', 'messageKind', 'text', 'senderName', 'wamid', 'quotedWamid'],
    jsonb: ['media', 'content', 'context', 'error'],
    timestamptz: ['sentAt'],
  })
  await tx`
    insert into messages (
      company_id, id, conversation_id, seq, direction, type, kind, text, media, status, sender_name, wamid,
      is_echo, sent_at, content, context, error, quoted_wamid, created_at, updated_at
    )
    overriding system value
    select
      company_id, id, conversation_id, seq, case when is_echo then 'outbound' else 'inbound' end, type, message_kind,
      text, media, case when is_echo then 'sent' else 'received' end, sender_name, wamid, is_echo, sent_at,
      content, context, error, quoted_wamid, ${at}, ${at}
    from ${input}
  `
}

type ReactionWrite = {
  companyId: number
  wamid: string | null
  targetWamid: string | null
  emoji: string | null
  writers: readonly string[]
  occurredAt: Date
}

export async function insertReactions(tx: Db, reactions: readonly ReactionWrite[]): Promise<void> {
  const input = placedRows(reactions, {
    bigint: ['companyId'],
    text: ['wamid', 'targetWamid', 'emoji'],
    'text[]': ['writers'],
    timestamptz: ['occurredAt'],
  })
  await tx`
    insert into message_reactions (company_id, wamid, target_wamid, emoji, writers, occurred_at)
    select company_id, wamid, target_wamid, emoji, writers, occurred_at
    from ${input}
    order by place
  `
}

type WamidKey = { companyId: number; wamid: string; isReaction: boolean }
/** `isChanged`: edits or revokes are waiting. */
type KnownWamid = WamidKey & { isRecorded: boolean; isChanged: boolean }

/** Finds wamids recorded as message or reaction, or with waiting edits and revokes. */
export function findKnownWamids(tx: Db, wamids: readonly WamidKey[]): Promise<KnownWamid[]> {
  const groups = Map.groupBy(wamids, ({ companyId, isReaction }) => `${companyId} ${isReaction}`)
  const rows = [...groups.values()].map((keys) => ({
    companyId: keys[0]?.companyId,
    isReaction: keys[0]?.isReaction,
    wamids: keys.map(({ wamid }) => wamid),
  }))
  return tx<KnownWamid[]>`
    select stored.*
    from (
      select
        input.company_id,
        named.wamid,
        input.is_reaction,
        case when input.is_reaction
          then exists (
            select from message_reactions reaction
            where (reaction.company_id, reaction.wamid) = (input.company_id, named.wamid)
          )
          else exists (
            select from messages message
            where (message.company_id, message.wamid) = (input.company_id, named.wamid) and ${isRecent()}
          )
        end as is_recorded,
        exists (
          select from message_changes change
          where (change.company_id, change.target_wamid) = (input.company_id, named.wamid)
        ) as is_changed
      from ${inputRows(rows, { bigint: ['companyId'], boolean: ['isReaction'], 'text[]': ['wamids'] })}
      cross join lateral unnest(input.wamids) as named (wamid)
    ) as stored
    where stored.is_recorded or stored.is_changed
  `
}

export type TargetMessage = { companyId: number; wamid: string; id: number; conversationId: number }

/** Applies waiting edits and revokes. */
export async function applyMessageChanges(
  tx: Db,
  wamids: readonly { companyId: number; wamid: string }[],
  at: Date,
): Promise<void> {
  await tx`
    select apply_message_changes(array_agg(row(change.company_id, change.wamid)::message_key), ${at})
    from ${inputRows(wamids, { bigint: ['companyId'], text: ['wamid'] }, 'change')}
  `
}

type SentReaction = { companyId: number; messageId: number; targetWamid: string; emoji: string | null }

/** The wamid may only become known later. */
const reactionKeyOf = (messageId: number): string => `sent:${messageId}`

/** Shows sent reactions once, except failed ones. The caller must hold their message locks. */
export async function recordSentReactions(tx: Db, reactions: readonly SentReaction[], at: Date): Promise<void> {
  const rows = reactions.map((reaction) => ({ ...reaction, wamid: reactionKeyOf(reaction.messageId) }))
  const input = inputRows(rows, { bigint: ['companyId', 'messageId'], text: ['wamid', 'targetWamid', 'emoji'] })
  await tx`
    insert into message_reactions (company_id, wamid, target_wamid, emoji, occurred_at)
    select company_id, wamid, target_wamid, emoji, ${at}
    from ${input}
    where not exists (
      select
      from messages message
      where (message.company_id, message.id) = (input.company_id, input.message_id)
        and message.status = 'failed'
        and ${isAmong(reactions.map(({ messageId }) => messageId))}
    )
    on conflict do nothing
  `
}

/** Removes reactions the provider accepted and then failed. */
export async function removeSentReactions(
  tx: Db,
  messages: readonly { companyId: number; id: number }[],
): Promise<void> {
  const rows = messages.map(({ companyId, id }) => ({ companyId, wamid: reactionKeyOf(id) }))
  await tx`
    delete from message_reactions reaction
    using ${inputRows(rows, { bigint: ['companyId'], text: ['wamid'] })}
    where (reaction.company_id, reaction.wamid) = (input.company_id, input.wamid)
  `
}

type CallEvent = { companyId: number; callId: string; call: VoiceCall }
export type ChangedCall = TargetMessage & { call: VoiceCall }

/** Adds call events in order. Returns each changed message, or undefined for a repeated event or missing message. */
export async function recordCallEvents(
  tx: Db,
  events: readonly CallEvent[],
  at: Date,
): Promise<(ChangedCall | undefined)[]> {
  if (events.length === 0) return []
  const calls = new Map((await lockCalls(tx, events)).map((one) => [callKeyOf(one.companyId, one.wamid), one]))
  const changed = events.map(({ companyId, callId, call }) => {
    const known = calls.get(callKeyOf(companyId, callId))
    const next = known && addToCall(known.call, call)
    if (known === undefined || next === undefined) return undefined
    const message = { ...known, call: next }
    calls.set(callKeyOf(companyId, callId), message)
    return message
  })
  const last = [...calls.values()].filter((message) => changed.includes(message))
  if (last.length > 0) await writeCalls(tx, last, at)
  return changed
}

const callKeyOf = (companyId: number, callId: string) => `${companyId} ${callId}`

function lockCalls(tx: Db, events: readonly CallEvent[]): Promise<ChangedCall[]> {
  const calls = new Map(
    events.map(({ companyId, callId }) => [callKeyOf(companyId, callId), { companyId, wamid: callId }]),
  )
  return tx<ChangedCall[]>`
    select message.company_id, message.wamid, message.id, message.conversation_id, message.content -> 'call' as call
    from ${inputRows([...calls.values()], { bigint: ['companyId'], text: ['wamid'] })}
    join messages message on (message.company_id, message.wamid) = (input.company_id, input.wamid)
    where message.content ->> 'type' = 'call'
    order by message.company_id, message.id
    for no key update of message
  `
}

async function writeCalls(tx: Db, calls: readonly ChangedCall[], at: Date): Promise<void> {
  const rows = calls.map(({ companyId, id, call }) => ({ companyId, id, content: { type: 'call', call } }))
  await tx`
    update messages message
    set content = input.content, updated_at = ${at}
    from ${inputRows(rows, { bigint: ['companyId', 'id'], jsonb: ['content'] })}
    where (message.company_id, message.id) = (input.company_id, input.id)
  `
}

const EVENTS_LIMIT = 20

/** Merges call events in any order; returns undefined for a repeated event. */
export function addToCall(known: VoiceCall, event: VoiceCall): VoiceCall | undefined {
  const added = event.events.filter((name) => !known.events.includes(name))
  if (added.length === 0 || known.events.length >= EVENTS_LIMIT) return undefined
  const [ended, other] = event.endedAt === null ? [known, event] : [event, known]
  return {
    direction: known.direction,
    // Later events, such as a recording, imply the call has ended.
    status: ended.endedAt === null && other.status === 'completed' ? 'completed' : ended.status,
    startedAt: ended.startedAt ?? other.startedAt,
    endedAt: ended.endedAt,
    events: [...known.events, ...added],
  }
}
