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

/** Removes the files that imports left which ended before their end. An import that runs keeps its files. */
export async function removeLeftFiles(db: Pool, remove: (storageKey: string) => Promise<void>): Promise<void> {
  const companies = await db<{ companyId: number }[]>`select distinct company_id from moving_files`
  for (const { companyId } of companies) {
    await db.begin(async (tx) => {
      if (!(await lockImport(tx, companyId))) return
      const files = await tx<{ storageKey: string }[]>`
        select storage_key from moving_files where company_id = ${companyId}`
      for (const { storageKey } of files) await remove(storageKey)
      await forgetFiles(tx, companyId)
    })
  }
}
