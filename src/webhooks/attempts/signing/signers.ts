import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../../platform/cache/cache-bound.ts'
import type { SecretCipher } from '../../registrations/registration.ts'
import { createSigner, type Signer } from './sign.ts'

/** Secrets that are kept in clear: the last that signed, as long as the process lives. */
const MOST_KEPT = 1_000

/**
 * The signer of a sealed secret. Each is opened once and not for every delivery; one that replaces it is sealed text
 * of its own, so an old one is never taken for it. Throws when it cannot be opened.
 */
export type Signers = (sealed: string) => Signer

/** Signers by encrypted secret. The most recently used are kept, since decrypting costs more than signing. */
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
