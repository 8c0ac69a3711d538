import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Config } from '../../platform/settings/config.ts'
import type { BlobStore } from './blob-store.ts'
import { openFolderBlobStore } from './folder-blob-store.ts'

export type PlaceConfig = Pick<Config, 'mediaBucketUrl' | 'mediaEarlierBucketUrl' | 'dataDir' | 'proxies'>

export type Places = {
  blobStore: BlobStore
  current: BlobStore
  earlier: BlobStore | undefined
  stop(): Promise<void>
}

/** Opens the configured bucket, or else the folder in DATA_DIR, and the earlier place, if any. */
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

/** Opens one place: a bucket, a `file:` URL or, without an address, the folder in DATA_DIR. */
export async function openPlace(
  config: PlaceConfig,
  address: string | undefined,
  setting = 'MEDIA_BUCKET_URL',
): Promise<BlobStore & { close(): void }> {
  if (address === undefined || address.startsWith('file:')) {
    const folder = address === undefined ? mediaFolder(config) : fileURLToPath(address)
    return { ...(await openFolderBlobStore(folder)), close: () => undefined }
  }
  // Loaded only when needed: the S3 client takes 30 MB.
  const { openBucketBlobStore } = await import('./bucket-blob-store.ts')
  return openBucketBlobStore(address, resolve(config.dataDir, 'temporary'), { setting, proxies: config.proxies })
}

/** Returns the DATA_DIR media folder as a `file:` URL. */
export const mediaFolderUrl = (config: Pick<Config, 'dataDir'>): string =>
  pathToFileURL(resolve(mediaFolder(config))).href

const mediaFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'media')

/** Writes to the current place; reads and deletes in both, so that files stay readable until copied. */
export const withEarlier = (current: BlobStore, earlier: BlobStore): BlobStore => ({
  put: (key, body, meta) => current.put(key, body, meta),
  open: async (key, range) => (await current.open(key, range)) ?? (await earlier.open(key, range)),
  has: async (key) => (await current.has(key)) || (await earlier.has(key)),
  remove: async (key) => {
    await Promise.all([current.remove(key), earlier.remove(key)])
  },
})
