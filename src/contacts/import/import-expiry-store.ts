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
