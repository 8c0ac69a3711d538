import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../platform/clock.ts'

const VERSION = 1
const HOUR_MS = 60 * 60 * 1_000
const HEAD_BYTES = 21
const DIGEST_BYTES = 32

export type MediaPass = { companyId: number; messageId: number; expiresAt: Date }

/** Derives the signing secret from an encryption key (32 bytes, base64) without revealing the key. */
export const addressSecretOf = (encryptionKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', Buffer.from(encryptionKey, 'base64'), '', 'media address v1', 32))

/** Builds a login-free address. Expiry rounds up to the full hour, so that clients can cache the address. */
export function mediaAddress(
  baseUrl: string,
  secret: Buffer,
  companyId: number,
  messageId: number,
  expiresAt: Date,
): string {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt8(VERSION, 0)
  head.writeBigUInt64BE(BigInt(companyId), 1)
  head.writeBigUInt64BE(BigInt(messageId), 9)
  head.writeUInt32BE(Math.ceil(expiresAt.getTime() / HOUR_MS), 17)
  return `${baseUrl}/media/${Buffer.concat([head, digestOf(secret, head)]).toString('base64url')}`
}

/** Returns the media a token grants access to, if signed with one of the secrets and not expired. */
export function verifyMediaToken(secrets: readonly Buffer[], token: string, now: Date): MediaPass | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== HEAD_BYTES + DIGEST_BYTES || bytes.toString('base64url') !== token) return undefined
  const head = bytes.subarray(0, HEAD_BYTES)
  const digest = bytes.subarray(HEAD_BYTES)
  if (!secrets.some((secret) => timingSafeEqual(digest, digestOf(secret, head)))) return undefined
  const expiresAt = new Date(head.readUInt32BE(17) * HOUR_MS)
  if (head.readUInt8(0) !== VERSION || now >= expiresAt) return undefined
  return {
    companyId: Number(head.readBigUInt64BE(1)),
    messageId: Number(head.readBigUInt64BE(9)),
    expiresAt,
  }
}

/** Reads the company id from a token before its signature is checked. */
export const companyNamedBy = (token: string): number => {
  const bytes = Buffer.from(token, 'base64url')
  return bytes.length === HEAD_BYTES + DIGEST_BYTES ? Number(bytes.readBigUInt64BE(1)) : 0
}

const digestOf = (secret: Buffer, head: Buffer): Buffer => createHmac('sha256', secret).update(head).digest()

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
