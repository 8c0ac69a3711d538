import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../db/connect.ts'
import { endPass, listCompanyIds, type PassTable, startPass, touchPass } from './pass-store.ts'

/** The pause between two statements of a pass. */
const PAUSE_MS = 20

/** Waits between two steps, and records that the pass makes progress. */
export type Pause = () => Promise<void>

/**
 * Rewrites the rows of all companies once, in steps with a pause between them. Runs beside processes of the version before:
 * a second pass a day later finds what they wrote meanwhile.
 */
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
    // Another process continues the pass.
    if (!signal.aborted) throw error
  }
}
