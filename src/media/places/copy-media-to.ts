import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Pool } from '../../db/connect.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { mediaFolderUrl, openPlace, type PlaceConfig } from '../blobs/open-blob-store.ts'
import { type CopyResult, copyFiles } from './copy-files.ts'

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
