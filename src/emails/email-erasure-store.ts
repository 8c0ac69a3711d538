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
