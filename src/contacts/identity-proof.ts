import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ContactWrite } from '../people/contact-record.ts'
import { validationError } from '../platform/errors.ts'
import { emailKey } from '../platform/text/email-address.ts'
import type { BrowserRights } from './write/browser-write.ts'

/**
 * Checks each `identityProof`: HMAC-SHA256 in hex of the lower-case email or the phone digits, by the key's secret.
 * Throws 422 for a wrong proof or a key without secret; must reveal nothing about contacts.
 */
export function readProofs(
  writes: readonly ContactWrite[],
  secret: string | null,
  isArray: boolean,
): BrowserRights['proven'][] {
  return writes.map((write, index) => {
    const { identityProof: proof, email, phone } = write
    if (proof === undefined) return { email: false, phone: false }
    const isOf = (identity: string | null | undefined) =>
      secret !== null && typeof identity === 'string' && isProof(proof, secret, identity)
    const proven = { email: isOf(email?.toLowerCase()) || isOf(email && emailKey(email)), phone: isOf(phone) }
    if (!proven.email && !proven.phone) throw wrongProof(secret, isArray ? `${index}.` : '')
    return proven
  })
}

function isProof(proof: string, secret: string, identity: string): boolean {
  const right = createHmac('sha256', secret).update(identity).digest()
  const sent = Buffer.from(proof, 'hex')
  return sent.length === right.length && timingSafeEqual(sent, right)
}

function wrongProof(secret: string | null, at: string) {
  const message =
    secret === null
      ? 'needs a key with an identity secret'
      : 'must be the HMAC-SHA256 in hex of the email in lower case, or of the digits of the phone, with the identity secret'
  return validationError([{ path: `${at}identityProof`, message }])
}
