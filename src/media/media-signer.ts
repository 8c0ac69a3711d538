import type { Clock } from '../platform/clock.ts'
import { addressSecretOf, type MediaPass, mediaAddress, verifyMediaToken } from './signed-address.ts'

const ADDRESS_LIFE_MS = 7 * 24 * 60 * 60 * 1_000

export type MediaSigner = {
  address(companyId: number, messageId: number): string
  verify(token: string): MediaPass | undefined
  verifyWith(secret: Buffer, token: string): MediaPass | undefined
}

/** Signs and verifies media addresses: the first encryption key signs and all verify, so that keys can rotate. */
export function createMediaSigner(options: {
  baseUrl: string
  encryptionKeys: readonly string[]
  clock: Clock
}): MediaSigner {
  const { baseUrl, clock } = options
  const secrets = options.encryptionKeys.map(addressSecretOf)
  const [first] = secrets
  if (first === undefined) throw new Error('Media addresses need at least one encryption key')
  return {
    address: (companyId, messageId) =>
      mediaAddress(baseUrl, first, companyId, messageId, new Date(clock.now().getTime() + ADDRESS_LIFE_MS)),
    verifyWith: (secret, token) => verifyMediaToken([secret], token, clock.now()),
    verify: (token) => verifyMediaToken(secrets, token, clock.now()),
  }
}
