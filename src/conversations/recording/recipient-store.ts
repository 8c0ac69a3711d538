import type { Db } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { isAmong, isRecent } from '../message-store.ts'
import type { StatusRecord } from './waiting-store.ts'

/** `requestedIdentity` is null for group or unknown messages (`isKnown`); `account`, for unknown numbers. */
type UnknownRecipient = {
  place: number
  isKnown: boolean
  requestedIdentity: string | null
  account: string | null
}

/** Finds statuses whose recipient's user id has no customer yet. */
export function findUnknownRecipients(
  tx: Db,
  statuses: readonly { record: StatusRecord; userId: string }[],
): Promise<UnknownRecipient[]> {
  const input = inputRows(
    statuses.map(({ record, userId }, place) => ({ ...record, place, userId })),
    {
      integer: ['place'],
      bigint: ['companyId', 'senderId', 'messageId'],
      text: ['wamid', 'providerMessageId', 'userId'],
    },
  )
  return tx<UnknownRecipient[]>`
    select
      input.place,
      (
        select sender.waba_account_id
        from senders sender
        where (sender.company_id, sender.id) = (input.company_id, input.sender_id)
      ) as account,
      named.customer_id is not null as is_known,
      (
        select identity.identity
        from customer_identities identity
        where (identity.company_id, identity.customer_id) = (input.company_id, named.customer_id)
          and identity.identity !~ '^#'
          and identity.retired_at is null
        order by identity.identity
        limit 1
      ) as requested_identity
    from ${input}
    left join lateral (
      select conversation.customer_id
      from (
          select message.company_id, message.conversation_id
          from messages message
          where (message.company_id, message.wamid) = (input.company_id, input.wamid)
            and ${isRecent()}
            and message.direction = 'outbound'
          union all
          select message.company_id, message.conversation_id
          from messages message
          where (message.company_id, message.id) = (input.company_id, input.message_id)
            and ${isRecent()}
            and message.direction = 'outbound'
            and message.wamid is null
          union all
          select message.company_id, message.conversation_id
          from messages message
          where (message.company_id, message.provider_message_id) = (input.company_id, input.provider_message_id)
            and ${isRecent()}
            and message.direction = 'outbound'
      ) as message
      join conversations conversation
        on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
        and conversation.sender_id = input.sender_id
      limit 1
    ) as named on true
    where not exists (select from find_customer(input.company_id, input.user_id))
  `
}

type MessageRecipient = { companyId: number; messageId: number; identity: string }

/** Returns customers' current identities; none for groups. */
export async function listRecipients(
  tx: Db,
  messages: readonly { companyId: number; id: number }[],
): Promise<MessageRecipient[]> {
  if (messages.length === 0) return []
  return await tx<MessageRecipient[]>`
    select message.company_id, message.id as message_id, identity.identity
    from ${inputRows(messages, { bigint: ['companyId', 'id'] })}
    join messages message on (message.company_id, message.id) = (input.company_id, input.id)
    join conversations conversation
      on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
    join customer_identities identity
      on (identity.company_id, identity.customer_id) = (conversation.company_id, conversation.customer_id)
    where ${isAmong(messages.map(({ id }) => id))} and identity.identity !~ '^#' and identity.retired_at is null
    order by message.company_id, message.id, identity.identity
  `
}
