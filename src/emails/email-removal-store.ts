import type { Db } from '../db/connect.ts'

/** Deletes up to `limit` emails to an address, in lower case, with their contents, links and clicks; returns their ids. */
export async function eraseEmails(db: Db, companyId: number, address: string, limit: number): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    with target as materialized (
      select id
      from emails
      where company_id = ${companyId} and lower(recipient) = ${address}
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

/** The `eml_…` ids of the emails that `eraseEmails` deletes next. */
export async function listEmailUids(db: Db, companyId: number, address: string, limit: number): Promise<string[]> {
  const rows = await db<{ uid: string }[]>`
    select uid
    from emails
    where company_id = ${companyId} and lower(recipient) = ${address}
    order by id
    limit ${limit}
  `
  return rows.map(({ uid }) => uid)
}

/** Deletes the oldest expired emails of some companies, up to `limit` of each; returns how many. Ids grow with time. */
export async function expireEmails(db: Db, days: number, companies: number, limit: number): Promise<number> {
  const expired = await db`
    with target as materialized (
      select company.id as company_id, expired.id
      from (
        select company.id
        from companies company
        cross join lateral (
          select email.created_at from emails email where email.company_id = company.id order by email.id limit 1
        ) as oldest
        where oldest.created_at < now() - make_interval(days => ${days})
        order by company.id
        limit ${companies}
      ) as company
      cross join lateral (
        select email.id, email.created_at, email.status
        from emails email
        where email.company_id = company.id
        order by email.id
        limit ${limit}
      ) as expired
      where expired.created_at < now() - make_interval(days => ${days}) and expired.status <> 'pending'
    ),
    contents as (
      delete from email_contents using target
      where (email_contents.company_id, email_contents.email_id) = (target.company_id, target.id)
    ),
    links as (
      delete from email_links using target
      where (email_links.company_id, email_links.email_id) = (target.company_id, target.id)
    ),
    clicks as (
      delete from email_clicks using target
      where (email_clicks.company_id, email_clicks.email_id) = (target.company_id, target.id)
    )
    delete from emails using target where (emails.company_id, emails.id) = (target.company_id, target.id)
  `
  return expired.count
}
