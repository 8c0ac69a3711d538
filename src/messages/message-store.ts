import { readUpTo } from '../conversations/unread-store.ts'
import type { Db, Pool } from '../db/connect.ts'

/**
 * Completes sends whose process died between preparing and completing: their outcome is unknown. Returns their messages.
 */
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

/** The message of an earlier request, to answer it again. */
export async function findSentMessage(db: Db, companyId: number, messageId: number): Promise<SentMessage | undefined> {
  const rows = await db<SentMessage[]>`
    select conversation_id, id, wamid, status, wamid is not null or provider_message_id is not null as is_taken
    from messages
    where company_id = ${companyId} and id = ${messageId}
  `
  return rows[0]
}
