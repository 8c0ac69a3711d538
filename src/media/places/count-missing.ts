import type { Pool } from '../../db/connect.ts'
import { monotonicMs } from '../../platform/clock.ts'
import type { Places } from '../blobs/open-blob-store.ts'
import { atOnce, storedFiles } from './stored-files.ts'

/** Oldest files per company come first: a change of place loses those. */
const MAX_FILES = 5_000
const MAX_MS = 5_000

/** `uncopied`: only in the earlier place. `missing`: in neither place. */
export type FileCounts = { looked: number; uncopied: number; missing: number }

/** Counts stored files absent from the media storage, checking up to 5,000 files for about 5 s. */
export async function countMissing(
  db: Pool,
  { current, earlier }: Pick<Places, 'current' | 'earlier'>,
): Promise<FileCounts> {
  const counts: FileCounts = { looked: 0, uncopied: 0, missing: 0 }
  const endAt = monotonicMs() + MAX_MS
  for await (const page of storedFiles(db)) {
    const files = page.slice(0, MAX_FILES - counts.looked)
    await atOnce(files, async ({ storageKey }) => {
      if (await current.has(storageKey)) return
      if (await earlier?.has(storageKey)) counts.uncopied += 1
      else counts.missing += 1
    })
    counts.looked += files.length
    if (counts.looked === MAX_FILES || monotonicMs() >= endAt) break
  }
  return counts
}
