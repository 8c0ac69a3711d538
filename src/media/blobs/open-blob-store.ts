import { join, resolve } from 'node:path'
import type { Config } from '../../settings/config.ts'
import type { BlobStore } from './blob-store.ts'
import { openFolderBlobStore } from './folder-blob-store.ts'

/** Where media are kept: the bucket that is set, else a folder within DATA_DIR. Temporary files lie in DATA_DIR, too. */
export async function openBlobStore(
  config: Pick<Config, 'mediaBucketUrl' | 'dataDir' | 'proxies'>,
): Promise<{ blobStore: BlobStore; stop(): Promise<void> }> {
  if (config.mediaBucketUrl === undefined) {
    return {
      blobStore: await openFolderBlobStore(join(config.dataDir, 'media')),
      stop: async () => {},
    }
  }
  // Its client takes 30 MB: only where there is a bucket.
  const { openBucketBlobStore } = await import('./bucket-blob-store.ts')
  const blobStore = await openBucketBlobStore(
    config.mediaBucketUrl,
    resolve(config.dataDir, 'temporary'),
    config.proxies,
  )
  return { blobStore, stop: async () => blobStore.close() }
}
