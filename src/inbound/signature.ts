import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Whether `X-Hub-Signature-256` is the HMAC-SHA256 of exactly these bytes under the app secret (decisions:
 * Provider-facing webhook). Constant time; hex in any case. No header, another form of header, or an empty secret is no
 * signature.
 */
export function verifyHubSignature(rawBody: Buffer, header: string | undefined, appSecret: string): boolean {
  const given = /^sha256=([0-9a-f]{64})$/i.exec(header ?? '')?.[1]
  if (given === undefined || appSecret === '') return false
  const expected = createHmac('sha256', appSecret).update(rawBody).digest()
  return timingSafeEqual(Buffer.from(given, 'hex'), expected)
}
