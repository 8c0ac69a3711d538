import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../../platform/cache.ts'
import type { SecretCipher } from '../../registrations/registration.ts'
import { createSigner, type Signer } from './sign.ts'

const MOST_KEPT = 1_000

export type Signers = (sealed: string) => Signer

/** Caches signers, since decrypting a secret costs more than signing. Throws if a secret can't be opened. */
export function createSigners(cipher: Pick<SecretCipher, 'decrypt'>): Signers {
  const cache = new LRUCache<string, Signer>(maxEntries(MOST_KEPT))
  return (sealed) => {
    const existing = cache.get(sealed)
    if (existing !== undefined) return existing
    const signer = createSigner(cipher.decrypt(sealed))
    cache.set(sealed, signer)
    return signer
  }
}
