import type { Db } from '../db/connect.ts'
import type { ChangedBy, Channel } from './contact-record.ts'

export type ConsentChange = {
  channel: Channel
  value: boolean
  clientId: string | null
  source: string
  at: Date
}

/**
 * Sets a living contact's consent on one channel and keeps the change in its history. What is so already is left alone
 * and leaves no trace. Answers whether anything changed.
 */
export async function recordConsent(
  db: Db,
  companyId: number,
  contactId: number,
  channel: Channel,
  value: boolean,
  by: ChangedBy,
): Promise<boolean> {
  const consent = channel === 'email' ? db`email_consent` : db`whatsapp_consent`
  const changes = await db`
    with changed as (
      update contacts
      set ${consent} = ${value}, updated_at = statement_timestamp()
      where (company_id, id) = (${companyId}, ${contactId})
        and deleted_at is null
        and ${consent} is distinct from ${value}
      returning company_id, id
    )
    insert into consent_changes (company_id, contact_id, channel, value, client_id, source, at)
    select company_id, id, ${channel}, ${value}, ${by.clientId}, ${by.source}, statement_timestamp()
    from changed
    returning id
  `
  return changes.length > 0
}

/** A contact's changes of consent, oldest first. */
export async function listConsentChanges(db: Db, companyId: number, contactId: number): Promise<ConsentChange[]> {
  return db<ConsentChange[]>`
    select channel, value, client_id, source, at
    from consent_changes
    where (company_id, contact_id) = (${companyId}, ${contactId})
    order by id
  `
}
