import type { Db } from '../../db/connect.ts'

/** The ids by which events name the senders of closed companies, at most 10,000. */
export async function findClosedIds(db: Db): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select distinct named.id
    from companies company
    join senders sender on sender.company_id = company.id and sender.deleted_at is null
    cross join lateral unnest(array[sender.phone_number_id, sender.waba_account_id, sender.app_id, sender.app_name]) as named (id)
    where company.closed_at is not null and company.deleted_at is null and named.id is not null
    limit 10000
  `
  return rows.map(({ id }) => id)
}
