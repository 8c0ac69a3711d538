import { type Db, type Fragment, jsonRows, type Pool, sql } from '../db/connect.ts'
import { isAmong, isRecent } from './message-month.ts'

/**
 * Counts as unread only what customers wrote after these outbound messages: an answer that the provider accepted, or may
 * have accepted, shows that the conversation was read. Text and media also take it over from the agent of the provider.
 *
 * The count is apart from the lock: a statement that waits for a lock does not see what a customer wrote meanwhile.
 */
export async function readUpTo(tx: Db, messages: readonly { companyId: number; id: number }[]): Promise<void> {
  const answered = answeredBy(tx, messages)
  await Promise.all([
    // The messages are looked up below the sort, and none after the first lock (docs/decisions/0016).
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

/** The conversations of outbound messages, with the last message of each, and the time of the last one that took it over. */
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

/** How many messages the customer of `conversation` wrote after a seq. */
const writtenAfter = (seq: Fragment) => sql`
  select count(*)::integer
  from messages message
  where (message.company_id, message.conversation_id) = (conversation.company_id, conversation.id)
    and message.seq > ${seq}
    and ${isRecent()}
    and message.direction = 'inbound'
`

/** Copies the counts of the `changed` conversations to the list. */
const showUnread = sql`
  update conversation_activity activity
  set is_unread = changed.unread_messages > 0
  from changed
  where (activity.company_id, activity.conversation_id) = (changed.company_id, changed.id)
    and activity.is_unread <> (changed.unread_messages > 0)
`

/** Counts as unread only what the customer wrote after the message of this seq. */
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
