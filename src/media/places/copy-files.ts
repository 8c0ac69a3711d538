import { createHash } from 'node:crypto'
import { appendFile, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from '../../db/connect.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { isFileGone } from '../../platform/files/storage-failure.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { mediaFolderUrl, openPlace, type PlaceConfig, type Places } from '../blobs/open-blob-store.ts'
import { atOnce, findStoredKeys, type StoredFile, storedFiles } from './stored-file-store.ts'

const PAGE = 500

/** `missing`: files in neither place. `removed`: files whose owner was deleted during the copy. */
export type CopyResult = { copied: number; present: number; missing: number; removed: number }

type CopyFilesDeps = {
  db: Pool
  from: Pick<BlobStore, 'open'>
  to: BlobStore
  /** Records copied files, so that a later run can remove those erased meanwhile. */
  journal: string
  /** Whether the service also deletes in the target; otherwise the journal is kept. */
  isInUse: boolean
}

/** Copies all files while the service runs, then removes those erased meanwhile. Can be run again. */
export async function copyFiles(deps: CopyFilesDeps): Promise<CopyResult> {
  const result: CopyResult = { copied: 0, present: 0, missing: 0, removed: 0 }
  for await (const page of storedFiles(deps.db)) await copyPage(deps, page, result)
  for await (const page of journaled(deps.journal)) result.removed += await removeErased(deps, page)
  if (deps.isInUse) await rm(deps.journal, { force: true })
  return result
}

async function copyPage(deps: CopyFilesDeps, page: StoredFile[], result: CopyResult): Promise<void> {
  const absent: StoredFile[] = []
  await atOnce(page, async (file) => {
    if (await deps.to.has(file.storageKey)) result.present += 1
    else absent.push(file)
  })
  if (absent.length === 0) return
  // Must be on disk before the first copy.
  const lines = absent.map((file) => `\n${JSON.stringify(file)}`).join('')
  await appendFile(deps.journal, lines, { mode: 0o600, flush: true })
  await atOnce(absent, async ({ storageKey, mimeType }) => {
    const body = await deps.from.open(storageKey)
    if (body === undefined) {
      result.missing += 1
      return
    }
    try {
      await deps.to.put(storageKey, body, { mimeType, maxBytes: Number.MAX_SAFE_INTEGER })
      result.copied += 1
    } catch (error) {
      if (!isFileGone(error)) throw error
    }
  })
}

async function removeErased({ db, to }: CopyFilesDeps, files: readonly StoredFile[]): Promise<number> {
  const stored = await findStoredKeys(db, files)
  const erased = files.filter(({ storageKey }) => !stored.has(storageKey))
  await atOnce(erased, ({ storageKey }) => to.remove(storageKey))
  return erased.length
}

/** A kill may tear a line, but only before its page was copied. */
async function* journaled(path: string): AsyncGenerator<StoredFile[]> {
  const file = await open(path, 'a+')
  let page: StoredFile[] = []
  try {
    for await (const line of file.readLines({ start: 0 })) {
      const entry = parseEntry(line)
      if (entry !== undefined) page.push(entry)
      if (page.length < PAGE) continue
      yield page
      page = []
    }
    if (page.length > 0) yield page
  } finally {
    await file.close()
  }
}

function parseEntry(line: string): StoredFile | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Copies all media to a bucket or `file:` URL, by default the configured place. @throws StartError */
export async function copyMediaTo(
  { db, config, blobStore }: { db: Pool; config: PlaceConfig; blobStore: Pick<BlobStore, 'open'> },
  address?: string,
): Promise<CopyResult> {
  const current = config.mediaBucketUrl ?? mediaFolderUrl(config)
  const target = address ?? current
  const to = await openPlace(config, target, '--to')
  try {
    const digest = createHash('sha256').update(nameOf(target)).digest('hex').slice(0, 16)
    const journal = join(config.dataDir, `media-copy-${digest}.ndjson`)
    return await copyFiles({ db, from: blobStore, to, journal, isInUse: nameOf(target) === nameOf(current) })
  } finally {
    to.close()
  }
}

function nameOf(address: string): string {
  const { protocol, host, pathname } = new URL(address)
  return `${protocol}//${host}${pathname.replace(/\/$/, '')}`
}

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
