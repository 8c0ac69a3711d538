import { isRecent } from '../conversations/message-store.ts'
import { readUpTo } from '../conversations/recording/conversation-write-store.ts'
import type { Db, Pool } from '../db/connect.ts'
import { OWN_WAMID } from './compose-message.ts'

/** Completes sends abandoned by a crashed process: their outcome is unknown. Returns their messages. */
export const completeAbandoned = (db: Pool, olderThanSeconds: number): Promise<{ companyId: number; id: number }[]> =>
  db.begin(async (tx) => {
    const messages = await tx<{ companyId: number; id: number }[]>`
      update messages
      set status = 'unknown', updated_at = now()
      where status = 'pending' and created_at < now() - make_interval(secs => ${olderThanSeconds})
      returning company_id, id
    `
    if (messages.length > 0) await readUpTo(tx, messages)
    return messages
  })

export type SentMessage = { conversationId: number; id: number; wamid: string | null; status: string; isTaken: boolean }

export async function findSentMessage(db: Db, companyId: number, messageId: number): Promise<SentMessage | undefined> {
  const rows = await db<SentMessage[]>`
    select conversation_id, id, wamid, status, wamid is not null or provider_message_id is not null as is_taken
    from messages
    where company_id = ${companyId} and id = ${messageId}
  `
  return rows[0]
}

/** Finds a message's wamid within the sender's conversation with the customer. */
export async function findMessageOf(
  db: Db,
  companyId: number,
  senderId: number,
  identity: string,
  messageId: number,
): Promise<{ wamid: string | null } | undefined> {
  const rows = await db<{ wamid: string | null }[]>`
    select message.wamid
    from find_customer(${companyId}, ${identity}) as customer
    join conversations conversation
      on (conversation.company_id, conversation.sender_id, conversation.customer_id)
        = (${companyId}::bigint, ${senderId}::bigint, customer.customer_id)
    join messages message
      on (message.company_id, message.conversation_id) = (conversation.company_id, conversation.id)
    where (message.company_id, message.id) = (${companyId}::bigint, ${messageId}::bigint)
  `
  return rows[0]
}

const MOST_MESSAGES_BACK = 1_000

/** Finds the wamid of the last inbound message among `messageCount`. */
export async function findLastInbound(
  db: Db,
  companyId: number,
  conversationId: number,
  messageCount: number,
): Promise<string | undefined> {
  const rows = await db<{ wamid: string }[]>`
    select wamid
    from messages message
    where (company_id, conversation_id) = (${companyId}::bigint, ${conversationId}::bigint)
      and seq > ${messageCount - MOST_MESSAGES_BACK}
      and ${isRecent()}
      and direction = 'inbound'
      and wamid !~ ${OWN_WAMID.source}
    order by seq desc
    limit 1
  `
  return rows[0]?.wamid
}
