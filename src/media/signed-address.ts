import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

const VERSION = 1
const HOUR_MS = 60 * 60 * 1_000
const HEAD_BYTES = 21
const DIGEST_BYTES = 32

export type MediaPass = { companyId: number; messageId: number; expiresAt: Date }

/** The secret that signs addresses, derived from an encryption key (32 bytes in base64) that it does not reveal. */
export const addressSecretOf = (encryptionKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', Buffer.from(encryptionKey, 'base64'), '', 'media address v1', 32))

/**
 * An address at which a message's media can be read without login until `expiresAt`, rounded up to the full hour so
 * that the same address is returned for an hour and can be cached.
 */
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

/** The media that a token gives access to, if one of the secrets signed it and it has not expired. */
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

/** The company that a token names, before its signature is checked. */
export const companyNamedBy = (token: string): number => {
  const bytes = Buffer.from(token, 'base64url')
  return bytes.length === HEAD_BYTES + DIGEST_BYTES ? Number(bytes.readBigUInt64BE(1)) : 0
}

const digestOf = (secret: Buffer, head: Buffer): Buffer => createHmac('sha256', secret).update(head).digest()
