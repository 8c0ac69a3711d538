import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../clock.ts'
import type { Pool } from '../db/connect.ts'
import { foldContactChanges } from './contact-fold-store.ts'
import { isImporting } from './contact-import-store.ts'

/** Rest for each moment of work: whoever searches meanwhile finds everything all the same, and writers go first. */
const RESTS = 3
/** While lists come in, folding waits for them so long. */
const AT_IMPORT_MS = 10_000

/** Brings the count and the search index up to date, without haste: as much as there is, or until it `isOver`. */
export function createFolder(db: Pool, atImportMs: number = AT_IMPORT_MS): (isOver?: () => boolean) => Promise<void> {
  let foldedAtMs = Number.NEGATIVE_INFINITY
  return async (isOver = () => false) => {
    for (let isMore = true; isMore && !isOver(); ) {
      if (monotonicMs() - foldedAtMs < atImportMs && (await isImporting(db))) return
      const startedAtMs = monotonicMs()
      isMore = await foldContactChanges(db)
      foldedAtMs = monotonicMs()
      if (isMore) await sleep(RESTS * (foldedAtMs - startedAtMs))
    }
  }
}
