import type { Db } from '../../db/connect.ts'
import type { Channel } from '../../people/contact-record.ts'

export const HISTORY_MAX = 100

export type ConsentHistoryEntry = {
  id: number
  channel: Channel
  value: boolean
  source: string
  keyName: string | null
  saidAt: Date
  firstSaidAt: Date | null
  ip: string | null
}

/** Returns entries by a living contact or its current identities, also hashed by an erasure, newest first. */
export async function readConsentHistory(db: Db, companyId: number, contactId: number): Promise<ConsentHistoryEntry[]> {
  return db<ConsentHistoryEntry[]>`
    with contact as materialized (
      select email_key, phone_identity
      from contacts
      where (company_id, id) = (${companyId}, ${contactId}) and deleted_at is null
    ),
    name as materialized (
      select 'mailto:' || contact.email_key as identity from contact where contact.email_key is not null
      union
      select contact.phone_identity from contact where contact.phone_identity is not null
      union
      select identity.identity
      from customers customer
      cross join lateral (
        select existing.identity
        from customer_identities existing
        where (existing.company_id, existing.customer_id) = (${companyId}, customer.id) and existing.left_at is null
      ) as identity
      where (customer.company_id, customer.contact_id) = (${companyId}, ${contactId})
    ),
    entry as (
      select said.*
      from name
      cross join unnest(array[name.identity, keyed_hash(${companyId}, name.identity)]) as form (identity)
      cross join unnest(array['email', 'whatsapp']) as channel (name)
      cross join lateral (
        select consents.*
        from consents
        where (consents.company_id, consents.identity, consents.channel) = (${companyId}, form.identity, channel.name)
        order by consents.said_at desc, consents.id desc
        limit ${HISTORY_MAX}
      ) as said
      union
      select said.*
      from unnest(array['email', 'whatsapp']) as channel (name)
      cross join lateral (
        select consents.*
        from consents
        where (consents.company_id, consents.contact_id, consents.channel) = (${companyId}, ${contactId}, channel.name)
        order by consents.said_at desc, consents.id desc
        limit ${HISTORY_MAX}
      ) as said
    )
    select
      entry.id, entry.channel, entry.value, entry.source, entry.said_at, entry.first_said_at, entry.ip,
      coalesce(
        (
          select key.name from api_keys key
          where (key.company_id, key.client_id) = (${companyId}, entry.client_id)
          limit 1
        ),
        (
          select session.name from console_sessions session
          where session.company_id = ${companyId} and entry.client_id = 'console:' || session.id
          limit 1
        )
      ) as key_name
    from entry
    order by entry.said_at desc, entry.id desc
    limit ${HISTORY_MAX}
  `
}
