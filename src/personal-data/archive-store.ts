import { isAmong } from '../conversations/message-store.ts'
import type { Db } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'
import { recipientMailbox } from '../emails/email-keys.ts'
import { storedKeys } from '../platform/text/email-address.ts'
import type { EnvelopePlace } from '../webhooks/deliveries/erase-envelopes.ts'

type ArchiveRow = { readonly id: number; readonly row: string }

export async function readArchivedContact(db: Db, companyId: number, contactId: number): Promise<string | undefined> {
  const [found] = await db<{ row: string }[]>`
    select (
      to_jsonb(contacts) - array['company_id', 'email_key', 'phone_identity', 'search_text', 'erased_at']
      || jsonb_build_object(
        'identities', (
          select coalesce(jsonb_agg(distinct own.identity), '[]')
          from customers customer
          join customer_identities own
            on (own.company_id, own.customer_id) = (customer.company_id, customer.id)
          where (customer.company_id, customer.contact_id) = (contacts.company_id, contacts.id)
        )
      )
    )::text as row
    from contacts
    where (company_id, id) = (${companyId}, ${contactId}) and erased_at is null
  `
  return found?.row
}

/** Lists consent ledger entries, oldest first, by contact or identity, in clear or as a keyed hash. */
export function readConsentRows(
  db: Db,
  companyId: number,
  contactId: number,
  identities: readonly string[],
  after: number,
  limit: number,
) {
  return db<ArchiveRow[]>`
    with name as materialized (
      select input.identity, form.identity as stored
      from unnest(${[...identities]}::text[]) as input (identity)
      cross join unnest(array[input.identity, keyed_hash(${companyId}, input.identity)]) as form (identity)
    )
    select
      found.id,
      (
        to_jsonb(found) - array['company_id', 'contact_id', 'event_id']
        || jsonb_build_object('identity', coalesce((select name.identity from name where name.stored = found.identity), found.identity))
      )::text as row
    from (
      (
        select consents.*
        from consents
        where consents.company_id = ${companyId}
          and consents.identity in (select name.stored from name)
          and consents.id > ${after}
        order by consents.id
        limit ${limit}
      )
      union
      (
        select consents.*
        from consents
        where (consents.company_id, consents.contact_id) = (${companyId}, ${contactId}) and consents.id > ${after}
        order by consents.id
        limit ${limit}
      )
    ) as found
    order by found.id
    limit ${limit}
  `
}

export function readConversationRows(db: Db, companyId: number, ids: readonly number[]) {
  return db<ArchiveRow[]>`
    select
      conversations.id,
      (to_jsonb(conversations) - array['company_id', 'next_message_at'] || jsonb_build_object(
        'phone', customer.phone,
        'identities', (
          select coalesce(jsonb_agg(own.identity order by own.identity), '[]')
          from customer_identities own
          where (own.company_id, own.customer_id) = (customer.company_id, customer.id)
        )
      ))::text as row
    from conversations
    join customers customer on (customer.company_id, customer.id) = (conversations.company_id, conversations.customer_id)
    where conversations.company_id = ${companyId} and conversations.id = any(${[...ids]}::bigint[])
    order by conversations.id
  `
}

export function readMessageRows(db: Db, companyId: number, ids: readonly number[]) {
  return db<ArchiveRow[]>`
    select
      message.id,
      (to_jsonb(message) - array['company_id', 'media'] || jsonb_build_object(
        'statuses', (
          select coalesce(jsonb_agg(to_jsonb(event) - array['company_id', 'message_id'] order by event.created_at), '[]')
          from message_status_events event
          where (event.company_id, event.message_id) = (message.company_id, message.id)
        ),
        'reactions', (
          select coalesce(jsonb_agg(to_jsonb(reaction) - array['company_id', 'ordinal'] order by reaction.ordinal), '[]')
          from message_reactions reaction
          where (reaction.company_id, reaction.target_wamid) = (message.company_id, message.wamid)
        ),
        'changes', (
          select coalesce(jsonb_agg(to_jsonb(change) - array['company_id', 'ordinal'] order by change.ordinal), '[]')
          from message_changes change
          where (change.company_id, change.target_wamid) = (message.company_id, message.wamid)
        ),
        'media', message.media || coalesce(
          (
            select to_jsonb(copy) - array[
              'company_id', 'message_id', 'sender_id', 'provider_media_id', 'filename', 'storage_key', 'attempts', 'last_error'
            ]
            from media copy
            where (copy.company_id, copy.message_id) = (message.company_id, message.id)
          ),
          '{}'
        )
      ))::text as row
    from messages message
    where message.company_id = ${companyId} and message.id = any(${[...ids]}::bigint[]) and ${isAmong(ids)}
    order by message.id
  `
}

export function readScheduledRows(
  db: Db,
  companyId: number,
  identities: readonly string[],
  after: number,
  limit: number,
) {
  return db<ArchiveRow[]>`
    select id, (to_jsonb(scheduled) - array['company_id', 'client_id'])::text as row
    from scheduled_messages scheduled
    where company_id = ${companyId} and identity = any (${[...identities]}::text[]) and id > ${after}
    order by id
    limit ${limit}
  `
}

export async function readDeliveryRows(
  db: Db,
  companyId: number,
  envelopes: readonly EnvelopePlace[],
): Promise<ArchiveRow[]> {
  if (envelopes.length === 0) return []
  const rows = await db<{ id: number; row: string; payload: string }[]>`
    select
      delivery.id,
      (to_jsonb(delivery) - array['company_id', 'day', 'lane', 'claim_id', 'lease_until', 'lease_expiries', 'faults'] || jsonb_build_object(
        'attempts', (
          select coalesce(
            jsonb_agg(to_jsonb(logged) - array['company_id', 'day', 'registration_id', 'delivery_id'] order by logged.id), '[]'
          )
          from delivery_attempts logged
          where (logged.company_id, logged.delivery_id) = (delivery.company_id, delivery.id)
        )
      ))::text as row,
      -- As it was sent: jsonb has no NUL, which a customer may have written.
      envelope.body as payload
    from ${inputRows(envelopes, { text: ['event', 'eventId'], integer: ['day'] }, 'name')}
    join envelopes envelope
      on (envelope.company_id, envelope.event, envelope.event_id, envelope.day) = (${companyId}, name.event, name.event_id, name.day)
    cross join lateral unnest(envelope.delivery_ids) as one (id)
    join deliveries delivery
      on (delivery.company_id, delivery.id, delivery.day) = (envelope.company_id, one.id, envelope.day)
    order by delivery.id
  `
  return rows.map(({ id, row, payload }) => ({ id, row: `${row.slice(0, -1)}, "payload": ${payload}}` }))
}

export function readWaitingChanges(db: Db, companyId: number, writers: readonly string[]) {
  return db<{ row: string }[]>`
    select (to_jsonb(change) - array['company_id', 'ordinal'])::text as row
    from message_changes change
    where change.company_id = ${companyId} and change.writers && ${[...writers]}::text[]
    order by change.ordinal
  `
}

export function readReactionRows(db: Db, companyId: number, wamids: readonly string[]) {
  return db<{ row: string }[]>`
    select (to_jsonb(reaction) - array['company_id', 'ordinal'])::text as row
    from message_reactions reaction
    where reaction.company_id = ${companyId} and reaction.wamid = any(${[...wamids]}::text[])
    order by reaction.ordinal
  `
}

export function readWaitingStatuses(db: Db, companyId: number, recipients: readonly string[]) {
  return db<{ row: string }[]>`
    select (to_jsonb(waiting) - array['company_id', 'id'])::text as row
    from waiting_statuses waiting
    where waiting.company_id = ${companyId} and waiting.recipients && ${[...recipients]}::text[]
    order by waiting.id
  `
}

/** Lists mails to a lower-case address. */
export function readEmailRows(db: Db, companyId: number, address: string, after: number, limit: number) {
  return db<(ArchiveRow & { uid: string })[]>`
    select
      email.id, email.uid,
      (to_jsonb(email) - array['company_id', 'secret'] || jsonb_build_object(
        'content', (
          select to_jsonb(contents) - array['company_id', 'email_id', 'tracking']
          from email_contents contents
          where (contents.company_id, contents.email_id) = (email.company_id, email.id)
        ),
        'links', (
          select to_jsonb(links.targets)
          from email_links links
          where (links.company_id, links.email_id) = (email.company_id, email.id)
        ),
        'clicks', (
          select coalesce(jsonb_agg(to_jsonb(click) - array['company_id', 'email_id'] order by click.id), '[]')
          from email_clicks click
          where (click.company_id, click.email_id) = (email.company_id, email.id)
        )
      ))::text as row
    from emails email
    where email.company_id = ${companyId} and ${recipientMailbox} = any (${storedKeys(address)}::text[]) and email.id > ${after}
    order by email.id
    limit ${limit}
  `
}

export function readDailyLimitRows(db: Db, companyId: number, contactId: number) {
  return db<{ row: string }[]>`
    select jsonb_build_object('scope', entry.scope, 'customer_id', entry.customer_id, 'counted_at', entry.counted_at)::text as row
    from customers customer
    cross join daily_limits daily
    join daily_limit_entries entry
      on (entry.company_id, entry.scope, entry.customer_id) = (daily.company_id, daily.scope, customer.id)
    where (customer.company_id, customer.contact_id) = (${companyId}, ${contactId}) and daily.company_id = ${companyId}
    order by entry.counted_at
  `
}

type RefusalBatch = { rows: string[]; importId: number | null; line: number | null }

export async function readRefusalRows(
  db: Db,
  companyId: number,
  texts: readonly string[],
  after: { importId: number; line: number },
  limit: number,
): Promise<RefusalBatch | undefined> {
  const [step] = await db<RefusalBatch[]>`
    with step as materialized (
      select *, lower(array_to_string(fields, chr(10))) as text
      from contact_import_refusals
      where company_id = ${companyId} and (import_id, line) > (${after.importId}, ${after.line})
      order by import_id, line
      limit ${limit}
    )
    select
      array(
        select (to_jsonb(step) - array['company_id', 'text'])::text
        from step
        where exists (
          select
          from unnest(${[...texts]}::text[]) as input (value)
          where position(input.value in step.text) > 0
            or position(input.value in regexp_replace(step.text, '[\\s().+-]', '', 'g')) > 0
        )
        order by step.import_id, step.line
      ) as rows,
      (select step.import_id from step order by step.import_id desc, step.line desc limit 1) as import_id,
      (select step.line from step order by step.import_id desc, step.line desc limit 1) as line
  `
  return step
}
