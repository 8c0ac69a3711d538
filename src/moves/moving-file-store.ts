import { randomUUID } from 'node:crypto'
import type { Db, Pool } from '../db/connect.ts'

export type ImportClaim = { companyId: number; claimId: string }

export const IMPORT_LEASE_SECONDS = 20

/** Held when an import starts, and while its files are discarded. */
const lock = (tx: Db, companyId: number) => tx`
  select pg_advisory_xact_lock(advisory_key('moving company', ${String(companyId)}))`

/** Claims the import of a company; undefined if another one holds an unexpired lease. */
export function claimImport(db: Pool, companyId: number): Promise<ImportClaim | undefined> {
  const claimId = randomUUID()
  return db.begin(async (tx) => {
    await lock(tx, companyId)
    const rows = await tx`
      insert into company_imports as import (company_id, claim_id, lease_until)
      values (${companyId}, ${claimId}, now() + make_interval(secs => ${IMPORT_LEASE_SECONDS}))
      on conflict (company_id) do update
        set claim_id = excluded.claim_id, lease_until = excluded.lease_until
        where import.lease_until < now()
      returning 1`
    return rows.length === 0 ? undefined : { companyId, claimId }
  })
}

export async function renewImport(db: Db, { companyId, claimId }: ImportClaim): Promise<void> {
  await db`
    update company_imports set lease_until = now() + make_interval(secs => ${IMPORT_LEASE_SECONDS})
    where (company_id, claim_id) = (${companyId}, ${claimId}) and lease_until > now()`
}

/** Releases an import; false if the lease had expired, so files may be discarded. */
export async function releaseImport(db: Db, { companyId, claimId }: ImportClaim): Promise<boolean> {
  const released = await db`
    delete from company_imports
    where (company_id, claim_id) = (${companyId}, ${claimId}) and lease_until > now()`
  return released.count > 0
}

export async function noteFile(db: Db, companyId: number, storageKey: string): Promise<void> {
  await db`
    insert into moving_files (company_id, storage_key) values (${companyId}, ${storageKey})
    on conflict do nothing`
}

/** Must run in the import transaction: the files now belong to the company. */
export async function forgetFiles(tx: Db, companyId: number): Promise<void> {
  await tx`delete from moving_files where company_id = ${companyId}`
}

/** Queues files of interrupted imports for deletion; returns the number of imports. Skips running ones. */
export async function discardLeftFiles(db: Pool): Promise<number> {
  const companies = await db<{ companyId: number }[]>`select distinct company_id from moving_files`
  let imports = 0
  for (const { companyId } of companies) {
    await db.begin(async (tx) => {
      await lock(tx, companyId)
      const running = await tx`select from company_imports where company_id = ${companyId} and lease_until > now()`
      if (running.length > 0) return
      await discardNotedFiles(tx, companyId)
      imports += 1
    })
  }
  return imports
}

/** Queues noted files for deletion. Must run before an import notes its own. */
export async function discardNotedFiles(db: Db, companyId: number): Promise<void> {
  await db`
    with left_over as (
      delete from moving_files where company_id = ${companyId} returning storage_key
    )
    insert into discarded_files (company_id, storage_key)
    select ${companyId}, storage_key from left_over
    on conflict do nothing`
}
