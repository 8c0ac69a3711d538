import type { RecordChange } from '../../changes/record-change.ts'
import { type Db, jsonRows } from '../../db/connect.ts'

/** Lists contacts created in this transaction, for event receivers. */
export async function listCreatedContacts(
  tx: Db,
  conversations: readonly { companyId: number; conversationId: number | null }[],
): Promise<RecordChange[]> {
  const rows = conversations.map(({ companyId, conversationId }) => ({ company_id: companyId, id: conversationId }))
  const contacts = await tx<{ companyId: number; id: number }[]>`
    select distinct contact.company_id, contact.id
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as touched (company_id bigint, id bigint)
    join conversations conversation
      on (conversation.company_id, conversation.id) = (touched.company_id, touched.id)
    join customers customer on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
    join contacts contact on (contact.company_id, contact.id) = (customer.company_id, customer.contact_id)
    where contact.created_at = now() -- the time at which this transaction began
    order by contact.company_id, contact.id
  `
  return contacts.map((contact) => ({ event: 'contact.changed', change: 'created', ...contact }))
}
