import type { Db } from '../../db/connect.ts'
import type { ExpiryBatch } from '../../db/lifetime-store.ts'

const IMPORT_DAYS = 90

type ImportKey = { companyId: number; id: number }

export function listOldImports(db: Db, limit: number): Promise<ImportKey[]> {
  return db<ImportKey[]>`
    select company_id, id
    from contact_imports
    where ended_at < now() - make_interval(days => ${IMPORT_DAYS}) and storage_key is null
    order by ended_at
    limit ${limit}
  `
}

export async function expireRefusals(
  db: Db,
  { companyId, id }: ImportKey,
  { limit, skip }: ExpiryBatch,
): Promise<number> {
  const expired = await db`
    delete from contact_import_refusals
    where (company_id, import_id, line) in (
      select company_id, import_id, line
      from contact_import_refusals
      where (company_id, import_id) = (${companyId}, ${id})
      order by line
      limit ${limit}
      offset ${skip}
    )
  `
  return expired.count
}

export async function expireImport(db: Db, { companyId, id }: ImportKey): Promise<void> {
  await db`
    delete from contact_imports
    where (company_id, id) = (${companyId}, ${id})
      and not exists (
        select
        from contact_import_refusals refusal
        where (refusal.company_id, refusal.import_id) = (${companyId}, ${id})
      )
  `
}

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
