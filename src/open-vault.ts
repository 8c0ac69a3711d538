import { join } from 'node:path'
import { systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { openBucketVault } from './media/bucket-vault.ts'
import { openFolderVault } from './media/folder-vault.ts'
import type { Vault } from './media/vault.ts'

/** Where media are kept: the bucket that is set, else a folder beside the data. */
export const openVault = (config: Pick<Config, 'mediaBucketUrl' | 'dataDir'>): Promise<Vault> =>
  config.mediaBucketUrl === undefined
    ? openFolderVault(join(config.dataDir, 'media'), systemClock.now())
    : openBucketVault(config.mediaBucketUrl)
