import { join } from 'node:path'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { openFolderVault } from '../media/folder-vault.ts'
import type { Vault } from '../media/vault.ts'

/** Where media are kept: the bucket that is set, else a folder beside the data. */
export async function openVault(
  config: Pick<Config, 'mediaBucketUrl' | 'dataDir'>,
): Promise<{ vault: Vault; stop(): Promise<void> }> {
  if (config.mediaBucketUrl === undefined) {
    return { vault: await openFolderVault(join(config.dataDir, 'media'), systemClock.now()), stop: async () => {} }
  }
  // Its client takes 30 MB: only where there is a bucket.
  const { openBucketVault } = await import('../media/bucket-vault.ts')
  const vault = await openBucketVault(config.mediaBucketUrl)
  return { vault, stop: async () => vault.close() }
}
