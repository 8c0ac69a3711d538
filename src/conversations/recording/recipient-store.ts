import { type Db, jsonRows } from '../../db/connect.ts'
import { isRecent } from '../message-month.ts'

/** A status that names the user id of its recipient. */
export type ReportedRecipient = { companyId: number; wamid: string | null; userId: string }

/** `requestedIdentity`: an identity of the customer of the message; null: the message is unknown, or is to a group. */
export type UnknownRecipient = { place: number; requestedIdentity: string | null }

/** Those of these recipients whose user id leads to no customer yet. */
export function findUnknownRecipients(tx: Db, recipients: readonly ReportedRecipient[]): Promise<UnknownRecipient[]> {
  const rows = recipients.map(({ companyId, wamid, userId }, place) => ({
    place,
    company_id: companyId,
    wamid,
    user_id: userId,
  }))
  return tx<UnknownRecipient[]>`
    select
      input.place,
      (
        select identity.identity
        from messages message
        join conversations conversation
          on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
        join customer_identities identity
          on (identity.company_id, identity.customer_id) = (conversation.company_id, conversation.customer_id)
        where (message.company_id, message.wamid) = (input.company_id, input.wamid)
          and ${isRecent()}
          and message.direction = 'outbound'
          and identity.identity !~ '^#'
          and identity.retired_at is null
        order by identity.identity
        limit 1
      ) as requested_identity
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (place integer, company_id bigint, wamid text, user_id text)
    where not exists (select from find_customer(input.company_id, input.user_id))
  `
}
