import { type Db, jsonRows } from '../../db/connect.ts'
import { isRecent } from '../message-month.ts'

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
  const rows = messages.map((message) => ({
    company_id: message.companyId,
    id: message.id,
    conversation_id: message.conversationId,
    seq: message.seq,
    is_echo: message.isEcho,
    type: message.type,
    kind: message.messageKind ?? undefined,
    text: message.text ?? undefined,
    media: message.media ?? undefined,
    sender_name: message.senderName ?? undefined,
    wamid: message.wamid ?? undefined,
    sent_at: message.sentAt ?? undefined,
    content: message.content ?? undefined,
    context: message.context ?? undefined,
    error: message.error ?? undefined,
    quoted_wamid: message.quotedWamid ?? undefined,
  }))
  await tx`
    insert into messages (
      company_id, id, conversation_id, seq, direction, type, kind, text, media, status, sender_name, wamid,
      is_echo, sent_at, content, context, error, quoted_wamid, created_at, updated_at
    )
    overriding system value
    select
      company_id, id, conversation_id, seq, case when is_echo then 'outbound' else 'inbound' end, type, kind,
      text, media, case when is_echo then 'sent' else 'received' end, sender_name, wamid, is_echo, sent_at,
      content, context, error, quoted_wamid, ${at}, ${at}
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (
      company_id bigint, id bigint, conversation_id bigint, seq bigint, is_echo boolean, type text, kind text,
      text text, media jsonb, sender_name text, wamid text, sent_at timestamptz, content jsonb, context jsonb,
      error jsonb, quoted_wamid text
    )
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
  const rows = reactions.map(({ companyId, wamid, targetWamid, emoji, writers, occurredAt }) => ({
    company_id: companyId,
    wamid,
    target_wamid: targetWamid,
    emoji,
    writers,
    occurred_at: occurredAt,
  }))
  await tx`
    insert into message_reactions (company_id, wamid, target_wamid, emoji, writers, occurred_at)
    select company_id, wamid, target_wamid, emoji, writers, occurred_at
    from rows from (
      jsonb_to_recordset(${jsonRows(tx, rows)}) as (
        company_id bigint, wamid text, target_wamid text, emoji text, writers text[], occurred_at timestamptz
      )
    ) with ordinality as input (company_id, wamid, target_wamid, emoji, writers, occurred_at, place)
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
    company_id: keys[0]?.companyId,
    is_reaction: keys[0]?.isReaction,
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
      from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, is_reaction boolean, wamids text[])
      cross join lateral unnest(input.wamids) as named (wamid)
    ) as stored
    where stored.is_recorded or stored.is_changed
  `
}

/** Applies waiting edits and revokes. */
export async function applyMessageChanges(
  tx: Db,
  wamids: readonly { companyId: number; wamid: string }[],
  at: Date,
): Promise<void> {
  const rows = wamids.map(({ companyId, wamid }) => ({ company_id: companyId, wamid }))
  await tx`
    select apply_message_changes(array_agg(row(change.company_id, change.wamid)::message_key), ${at})
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as change (company_id bigint, wamid text)
  `
}
