import { type Db, sql } from '../../db/connect.ts'
import { deleteSelected, type ExpiryBatch } from '../../db/lifetime-store.ts'

const IMPORT_DAYS = 90

const isOld = sql`ended_at < now() - make_interval(days => ${IMPORT_DAYS}) and storage_key is null`

/** Deletes refused rows of old imports; returns how many. */
export const expireRefusals = (db: Db, { limit, skip }: ExpiryBatch): Promise<number> =>
  deleteSelected(
    db,
    'contact_import_refusals',
    ['company_id', 'import_id', 'line'],
    sql`
      where (company_id, import_id) in (select company_id, id from contact_imports where ${isOld})
      order by company_id, import_id, line
      limit ${limit}
      offset ${skip}
    `,
  )

/** Deletes old imports without refused rows; returns how many. */
export const expireImports = (db: Db, { limit, skip }: ExpiryBatch): Promise<number> =>
  deleteSelected(
    db,
    'contact_imports',
    ['company_id', 'id'],
    sql`
      where ${isOld}
        and not exists (
          select
          from contact_import_refusals refusal
          where (refusal.company_id, refusal.import_id) = (contact_imports.company_id, contact_imports.id)
        )
      order by ended_at
      limit ${limit}
      offset ${skip}
    `,
  )

export type RefusalPlace = { importId: number; line: number }

/** Deletes refused rows with one of the texts among the next `limit`; returns where to continue. */
export async function eraseRefusals(
  db: Db,
  companyId: number,
  texts: readonly string[],
  after: RefusalPlace | undefined,
  limit: number,
): Promise<RefusalPlace | undefined> {
  const [last] = await db<RefusalPlace[]>`
    with step as materialized (
      select import_id, line, lower(array_to_string(fields, chr(10))) as row
      from contact_import_refusals
      where company_id = ${companyId} and (import_id, line) > (${after?.importId ?? 0}, ${after?.line ?? 0})
      order by import_id, line
      limit ${limit}
    ),
    erased as (
      delete from contact_import_refusals
      where (company_id, import_id, line) in (
        select ${companyId}::bigint, step.import_id, step.line
        from step
        join unnest(${[...texts]}::text[]) as text (value)
          on position(text.value in step.row) > 0
          or position(text.value in regexp_replace(step.row, '[\\s().+-]', '', 'g')) > 0
      )
    )
    select import_id, line from step order by import_id desc, line desc limit 1
  `
  return last
}
