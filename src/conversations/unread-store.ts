import { type Db, type Fragment, jsonRows, type Pool, sql } from '../db/connect.ts'
import { isAmong, isRecent } from './message-month.ts'

/**
 * Marks conversations as read up to messages the provider may have accepted; text and media also take over from its
 * agent. A statement of its own, since one that waits for a lock misses messages written meanwhile.
 */
export async function readUpTo(tx: Db, messages: readonly { companyId: number; id: number }[]): Promise<void> {
  const answered = answeredBy(tx, messages)
  await Promise.all([
    // Must look up messages below the sort, none after the first lock (docs/decisions/0016).
    tx`
      select
      from (${answered}) as answered
      join conversations conversation
        on (conversation.company_id, conversation.id) = (answered.company_id, answered.conversation_id)
      where ${isUnreadOrTaken}
      order by conversation.company_id, conversation.id
      for no key update of conversation
    `,
    tx`
      with answered as materialized (${answered}),
      changed as (
        update conversations conversation
        set
          unread_messages = least(conversation.unread_messages, (${writtenAfter(sql`answered.seq`)})),
          controlled_by = case when answered.taken_at > conversation.controlled_at then 'business' else conversation.controlled_by end,
          controlled_at = case when answered.taken_at > conversation.controlled_at then answered.taken_at else conversation.controlled_at end
        from answered
        where (conversation.company_id, conversation.id) = (answered.company_id, answered.conversation_id)
          and ${isUnreadOrTaken}
        returning conversation.company_id, conversation.id, conversation.unread_messages
      )
      ${showUnread}
    `,
  ])
}

const answeredBy = (tx: Db, messages: readonly { companyId: number; id: number }[]) => sql`
  select message.company_id, message.conversation_id, max(message.seq) as seq,
    max(message.created_at) filter (where message.template is null) as taken_at
  from jsonb_to_recordset(${jsonRows(
    tx,
    messages.map(({ companyId, id }) => ({ company_id: companyId, id })),
  )}) as input (company_id bigint, id bigint)
  join messages message on (message.company_id, message.id) = (input.company_id, input.id)
  where ${isAmong(messages.map(({ id }) => id))}
  group by message.company_id, message.conversation_id
`

const isUnreadOrTaken = sql`(conversation.unread_messages > 0 or answered.taken_at > conversation.controlled_at)`

const writtenAfter = (seq: Fragment) => sql`
  select count(*)::integer
  from messages message
  where (message.company_id, message.conversation_id) = (conversation.company_id, conversation.id)
    and message.seq > ${seq}
    and ${isRecent()}
    and message.direction = 'inbound'
`

const showUnread = sql`
  update conversation_activity activity
  set is_unread = changed.unread_messages > 0
  from changed
  where (activity.company_id, activity.conversation_id) = (changed.company_id, changed.id)
    and activity.is_unread <> (changed.unread_messages > 0)
`

/** Marks a conversation as read up to a seq. */
export const markRead = (db: Pool, companyId: number, conversationId: number, seq: number): Promise<void> =>
  db.begin(
    'isolation level read committed',
    async (tx) => {
      await Promise.all([
        tx`
          select from conversations where (company_id, id) = (${companyId}::bigint, ${conversationId}::bigint) for no key update
        `,
        tx`
          with changed as (
            update conversations conversation
            set
              unread_messages = least(conversation.unread_messages, (${writtenAfter(sql`${seq}::bigint`)})),
              updated_at = now()
            where conversation.company_id = ${companyId} and conversation.id = ${conversationId}
            returning conversation.company_id, conversation.id, conversation.unread_messages
          )
          ${showUnread}
        `,
        tx.commit(),
      ])
    },
    { pipelined: true },
  )
