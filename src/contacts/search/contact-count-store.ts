import type { Db } from '../../db/connect.ts'

const CHANGES_AT_ONCE = 10_000

export async function readContactCount(db: Db, companyId: number): Promise<number> {
  const [row] = await db<{ living: number }[]>`
    select
      coalesce((select living from contact_counts where company_id = ${companyId}), 0)
      + coalesce((select sum(change) from contact_changes where company_id = ${companyId}), 0)
      as living
  `
  return Number(row?.living ?? 0)
}

/** Adds up to 10,000 changes to the counts, skipping rows locked by other processes. */
export async function addUpChanges(db: Db): Promise<void> {
  await db`
    with taken as (
      delete from contact_changes
      where (company_id, id) in (
        select company_id, id
        from contact_changes
        order by company_id, id
        limit ${CHANGES_AT_ONCE}
        for update skip locked
      )
      returning company_id, change
    )
    insert into contact_counts as counts (company_id, living)
    select company_id, sum(change)
    from taken
    group by company_id
    order by company_id
    on conflict (company_id) do update set living = counts.living + excluded.living
  `
}
