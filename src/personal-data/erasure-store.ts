import type { Db } from '../db/connect.ts'

export type Erasure = {
  /** Encrypted; null: the erasure is complete. */
  readonly subject: string | null
  readonly passes: number
  /** Since the request, by the database's clock. */
  readonly ageMs: number
}

export async function insertErasure(tx: Db, companyId: number, contactId: number, subject: string): Promise<void> {
  await tx`
    insert into erasures (company_id, contact_id, subject) values (${companyId}, ${contactId}, ${subject})
  `
}

export async function findErasure(db: Db, companyId: number, contactId: number): Promise<Erasure | undefined> {
  const [erasure] = await db<Erasure[]>`
    select subject, passes, (extract(epoch from now() - requested_at) * 1000)::float8 as age_ms
    from erasures
    where (company_id, contact_id) = (${companyId}, ${contactId})
  `
  return erasure
}

/** Records the first pass; a second covers rows written meanwhile. */
export async function recordFirstPass(db: Db, companyId: number, contactId: number): Promise<void> {
  await db`
    update erasures set passes = 1 where (company_id, contact_id) = (${companyId}, ${contactId}) and passes = 0
  `
}

export async function completeErasure(db: Db, companyId: number, contactId: number): Promise<void> {
  await db`
    update erasures
    set passes = passes + 1, subject = null, completed_at = now()
    where (company_id, contact_id) = (${companyId}, ${contactId}) and subject is not null
  `
}
