import type { Db } from '../../db/connect.ts'
import { emailKey } from '../../text/email-address.ts'
import type { ChangedBy, Channel } from '../contact-record.ts'
import { emailPlace } from '../contact-store.ts'

export type ConsentChange = {
  channel: Channel
  value: boolean
  clientId: string | null
  source: string
  at: Date
}

/**
 * Sets a living contact's consent on one channel and keeps the change in its history; an opt-out outlives the contact
 * until a later opt-in (decisions: Consent). Without a difference nothing is written.
 */
export async function recordConsent(
  db: Db,
  companyId: number,
  contactId: number,
  channel: Channel,
  value: boolean,
  by: ChangedBy,
): Promise<void> {
  const consent = channel === 'email' ? db`email_consent` : db`whatsapp_consent`
  await db`
    with changed as (
      update contacts
      set ${consent} = ${value}, updated_at = statement_timestamp()
      where (company_id, id) = (${companyId}, ${contactId})
        and deleted_at is null
        and ${consent} is distinct from ${value}
      returning id
    )
    select record_consents(
      ${companyId},
      jsonb_build_array(jsonb_build_object('contact_id', id, 'channel', ${channel}::text, 'value', ${value}::boolean)),
      ${by.clientId},
      ${by.source}
    )
    from changed
  `
}

/** Stores opt-outs and opt-ins of identities on a channel, whether or not they are contacts. */
export async function storeOptOuts(
  db: Db,
  companyId: number,
  channel: Channel,
  identities: readonly string[],
  value: boolean,
): Promise<void> {
  await db`
    select keep_opt_outs(${companyId}, array_agg(row(${channel}, identity, ${value}::boolean)::consent_answer))
    from unnest(${[...identities]}::text[]) as identity
  `
}

/**
 * Whether marketing by email to this address is refused: by its living contact, or, where that has said nothing or there
 * is none, by an opt-out that was kept under the address.
 */
export async function hasRefusedEmail(db: Db, companyId: number, email: string): Promise<boolean> {
  const key = emailKey(email)
  const [row] = await db<{ isRefused: boolean }[]>`
    select coalesce(
      (
        select not email_consent
        from contacts
        where company_id = ${companyId} and ${emailPlace(db)} = ${key} and deleted_at is null
      ),
      is_opted_out(${companyId}, 'email', ${`mailto:${key}`})
    ) as is_refused
  `
  return row?.isRefused ?? false
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
