import { type Db, jsonRows } from '../../db/connect.ts'
import { isAmong } from '../message-month.ts'

type SentReaction = { companyId: number; messageId: number; targetWamid: string; emoji: string | null }

/** The wamid may only become known later. */
const keyOf = (messageId: number): string => `sent:${messageId}`

/** Shows sent reactions once, except failed ones. The caller must hold their message locks. */
export async function recordSentReactions(tx: Db, reactions: readonly SentReaction[], at: Date): Promise<void> {
  const rows = reactions.map(({ companyId, messageId, targetWamid, emoji }) => ({
    ...{ company_id: companyId, id: messageId, wamid: keyOf(messageId), target_wamid: targetWamid, emoji },
  }))
  await tx`
    insert into message_reactions (company_id, wamid, target_wamid, emoji, occurred_at)
    select company_id, wamid, target_wamid, emoji, ${at}
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (
      company_id bigint, id bigint, wamid text, target_wamid text, emoji text
    )
    where not exists (
      select
      from messages message
      where (message.company_id, message.id) = (input.company_id, input.id)
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
  const rows = messages.map(({ companyId, id }) => ({ company_id: companyId, wamid: keyOf(id) }))
  await tx`
    delete from message_reactions reaction
    using jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, wamid text)
    where (reaction.company_id, reaction.wamid) = (input.company_id, input.wamid)
  `
}
