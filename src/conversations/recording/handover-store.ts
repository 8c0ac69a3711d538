import type { Db } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'

export type Handover = {
  companyId: number
  /** WhatsApp business account; `phoneNumberId` is null if the event covers all its numbers. */
  account: string
  phoneNumberId: string | null
  identities: readonly string[]
  controlledBy: 'business' | 'agent' | null
  occurredAt: Date
}

/** Applies handovers in any order: each conversation's latest wins. Returns the changed conversations. */
export async function applyHandovers(
  tx: Db,
  handovers: readonly Handover[],
  at: Date,
): Promise<{ companyId: number; id: number }[]> {
  if (handovers.length === 0) return []
  const rows = handovers.flatMap(({ identities, ...one }, ord) =>
    identities.map((identity) => ({ ...one, ord, identity })),
  )
  const input = inputRows(rows, {
    integer: ['ord'],
    bigint: ['companyId'],
    text: ['account', 'phoneNumberId', 'identity', 'controlledBy'],
    timestamptz: ['occurredAt'],
  })
  return tx<{ companyId: number; id: number }[]>`
    with reported as materialized (
      select distinct on (conversation.company_id, conversation.id)
        conversation.company_id, conversation.id, input.controlled_by, input.occurred_at
      from ${input}
      cross join lateral find_customer(input.company_id, input.identity) as customer
      join conversations conversation
        on (conversation.company_id, conversation.customer_id) = (input.company_id, customer.customer_id)
      join senders sender on (sender.company_id, sender.id) = (conversation.company_id, conversation.sender_id)
      where sender.waba_account_id = input.account
        and (input.phone_number_id is null or sender.phone_number_id = input.phone_number_id)
      order by conversation.company_id, conversation.id, input.occurred_at desc, input.ord desc
    ),
    locked as materialized (
      select conversation.company_id, conversation.id
      from conversations conversation
      join reported on (reported.company_id, reported.id) = (conversation.company_id, conversation.id)
      order by conversation.company_id, conversation.id
      for no key update of conversation
    )
    update conversations conversation
    set controlled_by = reported.controlled_by, controlled_at = reported.occurred_at, updated_at = ${at}
    from reported
    join locked on (locked.company_id, locked.id) = (reported.company_id, reported.id)
    where (conversation.company_id, conversation.id) = (reported.company_id, reported.id)
      and reported.occurred_at >= coalesce(conversation.controlled_at, '-infinity')
    returning conversation.company_id, conversation.id
  `
}
