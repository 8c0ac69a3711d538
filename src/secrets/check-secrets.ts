import type { Db } from '../db/connect.ts'
import { StartError } from '../platform/start-error.ts'
import { findKeyIds } from './secret-store.ts'
import type { Cipher } from './secrets.ts'

/** Throws a StartError if keys of stored secrets are missing; sends and deliveries would fail later (decisions: Starting). */
export async function checkSecrets(db: Db, cipher: Cipher): Promise<void> {
  const missing = (await findKeyIds(db)).filter((keyId) => !cipher.keyIds.includes(keyId))
  if (missing.length === 0) return
  throw new StartError(
    `The database holds secrets encrypted with the key ${missing.join(', ')}, and ENCRYPTION_KEY has ${cipher.keyIds.join(', ')}: ` +
      'add the missing key to ENCRYPTION_KEY after a comma (key ids are the first 8 hex digits of a key’s SHA-256)',
  )
}
