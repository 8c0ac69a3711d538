import { type Db, jsonRows } from '../db/connect.ts'
import { isAmong, isRecent } from './message-month.ts'

/**
 * Counts as unread only what customers wrote after these outbound messages: an answer that the provider accepted, or may
 * have accepted, shows that the conversation was read. Text and media also take it over from the agent of the provider.
 */
export async function readUpTo(tx: Db, messages: readonly { companyId: number; id: number }[]): Promise<void> {
  const rows = messages.map(({ companyId, id }) => ({ company_id: companyId, id }))
  await tx`
    with unread as materialized (
      select conversation.company_id, conversation.id, answered.seq,
        coalesce(answered.taken_at > conversation.controlled_at, false) as is_taken, answered.taken_at
      from (
        select message.company_id, message.conversation_id, max(message.seq) as seq,
          max(message.created_at) filter (where message.template is null) as taken_at
        from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, id bigint)
        join messages message on (message.company_id, message.id) = (input.company_id, input.id)
        where ${isAmong(messages.map(({ id }) => id))}
        group by message.company_id, message.conversation_id
      ) as answered
      join conversations conversation
        on (conversation.company_id, conversation.id) = (answered.company_id, answered.conversation_id)
      where conversation.unread_messages > 0 or answered.taken_at > conversation.controlled_at
      order by conversation.company_id, conversation.id
      for no key update of conversation
    ),
    changed as (
      update conversations conversation
      set
        unread_messages = least(conversation.unread_messages, later.messages),
        controlled_by = case when unread.is_taken then 'business' else conversation.controlled_by end,
        controlled_at = case when unread.is_taken then unread.taken_at else conversation.controlled_at end
      from unread
      cross join lateral (
        select count(*)::integer as messages
        from messages message
        where (message.company_id, message.conversation_id) = (unread.company_id, unread.id)
          and message.seq > unread.seq
          and ${isRecent()}
          and message.direction = 'inbound'
      ) as later
      where (conversation.company_id, conversation.id) = (unread.company_id, unread.id)
      returning conversation.company_id, conversation.id, conversation.unread_messages
    )
    update conversation_activity activity
    set is_unread = changed.unread_messages > 0
    from changed
    where (activity.company_id, activity.conversation_id) = (changed.company_id, changed.id)
      and activity.is_unread <> (changed.unread_messages > 0)
  `
}

/** Counts as unread only what the customer wrote after the message of this seq. */
export async function markRead(db: Db, companyId: number, conversationId: number, seq: number): Promise<void> {
  // The conversation is locked before its activity, as everywhere.
  await db`
    with changed as (
      update conversations conversation
      set
        unread_messages = least(conversation.unread_messages, (
          select count(*)
          from messages message
          where (message.company_id, message.conversation_id) = (conversation.company_id, conversation.id)
            and message.seq > ${seq}
            and ${isRecent()}
            and message.direction = 'inbound'
        )),
        updated_at = now()
      where conversation.company_id = ${companyId} and conversation.id = ${conversationId}
      returning conversation.company_id, conversation.id, conversation.unread_messages
    )
    update conversation_activity activity
    set is_unread = changed.unread_messages > 0
    from changed
    where (activity.company_id, activity.conversation_id) = (changed.company_id, changed.id)
  `
}
