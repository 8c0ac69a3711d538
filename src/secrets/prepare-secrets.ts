import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { openPool } from '../db/database.ts'
import type { Config } from '../platform/settings/config.ts'
import { checkSecrets, ensureServiceSecret } from './secret-store.ts'
import { type Cipher, ensureDataSecret } from './secrets.ts'

/** Checks the stored secrets; returns the opt-out hash key, a session setting. Throws StartError if a key is missing. */
export async function prepareSecrets(url: string, cipher: Cipher): Promise<string> {
  const { db, stop } = openPool(url, { max: 1 })
  try {
    await checkSecrets(db, cipher)
    return await ensureServiceSecret(db, cipher, 'opt-out key')
  } finally {
    await stop()
  }
}

/** Returns the operator's secrets. On the embedded default, missing ones are generated once and stored with the data. */
export async function readSecrets(config: Pick<Config, 'dataDir' | 'databaseUrl' | 'adminToken' | 'encryptionKeys'>) {
  const stored = (name: string, make: () => string) => ensureDataSecret(config.dataDir, name, make)
  const adminToken = config.adminToken ?? (await stored('admin-token', () => randomBytes(32).toString('hex')))
  const encryptionKeys =
    config.encryptionKeys.length > 0
      ? config.encryptionKeys
      : [await stored('encryption-key', () => randomBytes(32).toString('base64'))]
  const adminTokenFile = config.adminToken === undefined ? resolve(join(config.dataDir, 'admin-token')) : undefined
  return { adminToken, adminTokenFile, encryptionKeys }
}
