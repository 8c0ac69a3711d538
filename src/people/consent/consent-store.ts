import { type Db, jsonRows, sql } from '../../db/connect.ts'
import type { Channel } from '../members/contact-record.ts'

export type NewConsent = {
  readonly companyId: number
  readonly channel: Channel
  readonly identity: string | null
  readonly contactId: number | null
  readonly value: boolean
  /** Provider time, never in the future; null means now. */
  readonly saidAt: Date | null
  readonly source: string
  readonly clientId: string | null
  readonly eventId: string | null
  readonly ip?: string | null
  /** The identical entry to replace; the new one keeps the first `saidAt`. */
  readonly repeats?: number | null
}

/** Inserts entries, skipping known provider events. Ids follow input order, which breaks ties between equal times. */
export async function appendConsents(tx: Db, entries: readonly NewConsent[]): Promise<void> {
  const rows = entries.map((entry) => ({
    company_id: entry.companyId,
    channel: entry.channel,
    identity: entry.identity,
    contact_id: entry.contactId,
    value: entry.value,
    said_at: entry.saidAt,
    source: entry.source,
    client_id: entry.clientId,
    event_id: entry.eventId,
    repeats: entry.repeats ?? null,
    ip: entry.ip ?? null,
  }))
  await tx`
    with input as (
      select *
      from rows from (
        jsonb_to_recordset(${jsonRows(tx, rows)}) as (
          company_id bigint, channel text, identity text, contact_id bigint, value boolean, said_at timestamptz, source text,
          client_id text, event_id text, repeats bigint, ip text
        )
      ) with ordinality as input (
        company_id, channel, identity, contact_id, value, said_at, source, client_id, event_id, repeats, ip, place
      )
    ),
    repeated as (
      delete from consents using input
      where (consents.company_id, consents.id) = (input.company_id, input.repeats)
      returning input.place, consents.said_at, coalesce(consents.first_said_at, consents.said_at) as first_said_at
    )
    insert into consents (
      company_id, channel, identity, contact_id, value, said_at, first_said_at, source, client_id, event_id, ip
    )
    select
      company_id, channel, identity, contact_id, value,
      -- Times are compared in milliseconds.
      greatest(date_trunc('milliseconds', least(input.said_at, statement_timestamp())), repeated.said_at),
      first_said_at, source, client_id, event_id, ip
    from input
    left join repeated using (place)
    order by place
    on conflict (company_id, event_id, channel, identity) where event_id is not null do nothing
  `
}

type ConsentChange = {
  channel: Channel
  value: boolean
  clientId: string | null
  source: string
  saidAt: Date
  firstSaidAt: Date | null
}

export async function listConsents(db: Db, companyId: number, contactId: number): Promise<ConsentChange[]> {
  return db<ConsentChange[]>`
    select channel, value, client_id, source, said_at, first_said_at
    from consents
    where (company_id, contact_id) = (${companyId}, ${contactId})
    order by id
  `
}

type ContactKey = { readonly companyId: number; readonly contactId: number }

/** Must run before the ledger is read. Throws 55P03 without `waits` if another transaction holds a lock. */
export const lockContacts = (tx: Db, contacts: readonly ContactKey[], waits: boolean) =>
  tx<(ContactKey & { phoneIdentity: string | null })[]>`
    select contacts.company_id, contacts.id as contact_id, contacts.phone_identity
    from contacts
    join jsonb_to_recordset(${jsonRows(tx, contacts.map(toKey))}) as input (company_id bigint, id bigint)
      on (contacts.company_id, contacts.id) = (input.company_id, input.id)
    where contacts.deleted_at is null
    order by contacts.company_id, contacts.id
    for no key update of contacts ${waits ? sql`` : sql`nowait`}
  `

const toKey = ({ companyId, contactId }: ContactKey) => ({ company_id: companyId, id: contactId })

export type ShownConsents = {
  readonly companyId: number
  readonly contactId: number
  readonly emailConsent: boolean | null
  readonly whatsappConsent: boolean | null
}

export async function writeShownConsents(tx: Db, shown: readonly ShownConsents[]): Promise<void> {
  const rows = shown.map(({ emailConsent, whatsappConsent, ...contact }) => ({
    ...toKey(contact),
    email_consent: emailConsent,
    whatsapp_consent: whatsappConsent,
  }))
  await tx`
    update contacts
    set
      email_consent = input.email_consent,
      whatsapp_consent = input.whatsapp_consent,
      updated_at = statement_timestamp()
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (
      company_id bigint, id bigint, email_consent boolean, whatsapp_consent boolean
    )
    where (contacts.company_id, contacts.id) = (input.company_id, input.id)
  `
}
