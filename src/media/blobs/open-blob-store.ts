import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Config } from '../../platform/settings/config.ts'
import type { BlobStore } from './blob-store.ts'
import { openFolderBlobStore } from './folder-blob-store.ts'
import { withEarlier } from './with-earlier.ts'

export type PlaceConfig = Pick<Config, 'mediaBucketUrl' | 'mediaEarlierBucketUrl' | 'dataDir' | 'proxies'>

export type Places = {
  /** What the service uses: reads both places, and writes to the current one. */
  blobStore: BlobStore
  current: BlobStore
  /** Where media were kept before; files not copied yet are read from here. */
  earlier: BlobStore | undefined
  stop(): Promise<void>
}

/**
 * Opens the media storage: the bucket that is set, else the folder within DATA_DIR. The earlier place is MEDIA_EARLIER_BUCKET_URL,
 * or, beside a bucket, the folder if there is one.
 */
export async function openBlobStore(config: PlaceConfig): Promise<Places> {
  const { mediaBucketUrl, mediaEarlierBucketUrl } = config
  const current = await openPlace(config, mediaBucketUrl)
  const hasEarlier =
    mediaEarlierBucketUrl !== undefined || (mediaBucketUrl !== undefined && existsSync(mediaFolder(config)))
  const earlier = hasEarlier
    ? await openPlace(config, mediaEarlierBucketUrl, 'MEDIA_EARLIER_BUCKET_URL').catch(async (error) => {
        current.close()
        throw error
      })
    : undefined
  return {
    blobStore: earlier === undefined ? current : withEarlier(current, earlier),
    current,
    earlier,
    stop: async () => {
      current.close()
      earlier?.close()
    },
  }
}

/** Opens one place: a bucket, a folder as a `file:` URL, or without an address the folder within DATA_DIR. */
export async function openPlace(
  config: PlaceConfig,
  address: string | undefined,
  setting = 'MEDIA_BUCKET_URL',
): Promise<BlobStore & { close(): void }> {
  if (address === undefined || address.startsWith('file:')) {
    const folder = address === undefined ? mediaFolder(config) : fileURLToPath(address)
    return { ...(await openFolderBlobStore(folder)), close: () => undefined }
  }
  // Its client takes 30 MB: only where there is a bucket.
  const { openBucketBlobStore } = await import('./bucket-blob-store.ts')
  return openBucketBlobStore(address, resolve(config.dataDir, 'temporary'), { setting, proxies: config.proxies })
}

/** The folder within DATA_DIR as an address. */
export const mediaFolderUrl = (config: Pick<Config, 'dataDir'>): string =>
  pathToFileURL(resolve(mediaFolder(config))).href

const mediaFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'media')
