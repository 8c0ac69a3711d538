import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../db/connect.ts'
import { endPass, listCompanyIds, type PassTable, startPass, touchPass } from './pass-store.ts'

const PAUSE_MS = 20

export type Pause = () => Promise<void>

/** Rewrites all companies' rows once. A second pass a day later covers writes by previous-version processes. */
export async function passOverCompanies(
  db: Db,
  table: PassTable,
  signal: AbortSignal,
  work: (companyId: number, pause: Pause) => Promise<void>,
): Promise<void> {
  const pass = await startPass(db, table)
  if (pass === undefined) return
  const pause = async () => {
    await touchPass(db, table, pass)
    await sleep(PAUSE_MS, undefined, { signal })
  }
  try {
    for (const companyId of await listCompanyIds(db)) await work(companyId, pause)
    await endPass(db, table, pass)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
