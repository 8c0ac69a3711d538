import type { Db } from '../db/connect.ts'
import type { ExpiryBatch } from '../db/lifetime-store.ts'
import { storedKeys } from '../platform/text/email-address.ts'
import { recipientMailbox } from './email-keys.ts'

/** Deletes up to `limit` emails to a lower-case address, with contents, links and clicks; returns their ids. */
export async function eraseEmails(db: Db, companyId: number, address: string, limit: number): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    with target as materialized (
      select id
      from emails
      where company_id = ${companyId} and ${recipientMailbox} = any (${storedKeys(address)}::text[])
      order by id
      limit ${limit}
      for update
    ),
    contents as (
      delete from email_contents using target where (company_id, email_id) = (${companyId}, target.id)
    ),
    links as (
      delete from email_links using target where (company_id, email_id) = (${companyId}, target.id)
    ),
    clicks as (
      delete from email_clicks using target where (company_id, email_id) = (${companyId}, target.id)
    )
    delete from emails using target where (emails.company_id, emails.id) = (${companyId}, target.id)
    returning emails.id
  `
  return rows.map(({ id }) => id)
}

/** Lists the `eml_…` ids `eraseEmails` will delete next. */
export async function listEmailUids(db: Db, companyId: number, address: string, limit: number): Promise<string[]> {
  const rows = await db<{ uid: string }[]>`
    select uid
    from emails
    where company_id = ${companyId} and ${recipientMailbox} = any (${storedKeys(address)}::text[])
    order by id
    limit ${limit}
  `
  return rows.map(({ uid }) => uid)
}

/** Returns companies with expired emails. Ids grow with time, so each company costs one probe. */
export async function listCompaniesWithExpiredEmails(db: Db, days: number, limit: number): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select company.id
    from companies company
    cross join lateral (
      select email.created_at from emails email where email.company_id = company.id order by email.id limit 1
    ) as oldest
    where oldest.created_at < now() - make_interval(days => ${days})
    order by company.id
    limit ${limit}
  `
  return rows.map(({ id }) => id)
}

/** Deletes a company's oldest expired emails; returns how many. Their envelopes may outlive them, found by address. */
export async function expireEmails(
  db: Db,
  companyId: number,
  days: number,
  { limit, skip }: ExpiryBatch,
): Promise<number> {
  const expired = await db`
    with target as materialized (
      select oldest.id, oldest.uid, oldest.mailbox
      from (
        select email.id, email.uid, ${recipientMailbox} as mailbox, email.created_at, email.status
        from emails email
        where email.company_id = ${companyId}
        order by email.id
        limit ${limit}
        offset ${skip}
      ) as oldest
      where oldest.created_at < now() - make_interval(days => ${days}) and oldest.status <> 'pending'
    ),
    named as (
      insert into envelope_people (company_id, person, event, event_id, day, created_at)
      select ${companyId}, 'mailto:' || target.mailbox, outlived.event, outlived.event_id, outlived.day, outlived.created_at
      from target
      cross join lateral (
        select envelope.event, envelope.event_id, envelope.day, envelope.created_at
        from envelopes envelope
        where envelope.company_id = ${companyId} and envelope.event = 'email.status'
          and envelope.event_id >= target.uid || '.' and envelope.event_id < target.uid || '/'
      ) as outlived
      on conflict do nothing
    ),
    contents as (
      delete from email_contents using target where (company_id, email_id) = (${companyId}, target.id)
    ),
    links as (
      delete from email_links using target where (company_id, email_id) = (${companyId}, target.id)
    ),
    clicks as (
      delete from email_clicks using target where (company_id, email_id) = (${companyId}, target.id)
    )
    delete from emails using target where (emails.company_id, emails.id) = (${companyId}, target.id)
  `
  return expired.count
}
