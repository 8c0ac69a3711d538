import { type Db, sql } from '../db/connect.ts'
import type { AgingRows } from '../db/lifetime-store.ts'
import { storedKeys } from '../platform/text/email-address.ts'
import { recipientMailbox } from './email-keys.ts'

/** Finds up to `limit` emails to a lower-case address. */
export const findEmailsTo = (
  db: Db,
  companyId: number,
  address: string,
  limit: number,
): Promise<{ id: number; uid: string }[]> =>
  db<{ id: number; uid: string }[]>`
    select id, uid
    from emails
    where company_id = ${companyId} and ${recipientMailbox} = any (${storedKeys(address)}::text[])
    order by id
    limit ${limit}
  `

export const agedEmails = (days: number): AgingRows => ({
  table: 'emails',
  where: sql`true`,
  areDeletable: sql`oldest.status <> 'pending'`,
  days,
})

/** Deletes emails with contents, links and clicks. */
export async function deleteEmails(db: Db, companyId: number, ids: readonly number[]): Promise<void> {
  await db`
    with target as materialized (
      select id
      from emails
      where company_id = ${companyId} and id = any (${[...ids]}::bigint[])
      order by id
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
  `
}
