import type { Db, Pool } from '../db/connect.ts'

/** Held by the transaction that imports a company: the files that it stores are not left over. */
const tryLock = (tx: Db, companyId: number) =>
  tx<[{ isLocked: boolean }]>`
    select pg_try_advisory_xact_lock(advisory_key('moving company', ${String(companyId)})) as is_locked`

/** False when another import of the company runs. */
export const lockImport = async (tx: Db, companyId: number): Promise<boolean> =>
  (await tryLock(tx, companyId))[0].isLocked

/** Notes a file before it is stored. */
export async function noteFile(db: Db, companyId: number, storageKey: string): Promise<void> {
  await db`
    insert into moving_files (company_id, storage_key) values (${companyId}, ${storageKey})
    on conflict do nothing`
}

/** Forgets the notes in the transaction that imports the company: the files are its own from now on. */
export async function forgetFiles(tx: Db, companyId: number): Promise<void> {
  await tx`delete from moving_files where company_id = ${companyId}`
}

/** Queues the files of interrupted imports for deletion; returns of how many. A running import keeps its files. */
export async function discardLeftFiles(db: Pool): Promise<number> {
  const companies = await db<{ companyId: number }[]>`select distinct company_id from moving_files`
  let imports = 0
  for (const { companyId } of companies) {
    await db.begin(async (tx) => {
      if (!(await lockImport(tx, companyId))) return
      await tx`
        with left_over as (
          delete from moving_files where company_id = ${companyId} returning storage_key
        )
        insert into discarded_files (company_id, storage_key)
        select ${companyId}, storage_key from left_over
        on conflict do nothing`
      imports += 1
    })
  }
  return imports
}
