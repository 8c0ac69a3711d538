import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

const STANDARD_PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

/** Signs with one secret, whose keys are made once. */
export type Signer = {
  /** The specification's signature: HMAC-SHA256 over exactly these bytes, keyed with the secret, in hex. */
  sign(body: Buffer): string
  /**
   * The headers of the Standard Webhooks scheme. `id` is stable over attempts, `at` is when this attempt is made:
   * receivers refuse timestamps that are some minutes old.
   */
  standardHeaders(id: string, at: Date, body: Buffer): Record<string, string>
}

/**
 * Signs bodies with a registration's secret: the hexadecimal HMAC-SHA256 of the body, and the headers of Standard
 * Webhooks.
 */
export function createSigner(secret: string): Signer {
  const key = createSecretKey(secret, 'utf8')
  const standard = standardKey(secret)
  return {
    sign: (body) => createHmac('sha256', key).update(body).digest('hex'),
    standardHeaders: (id, at, body) => {
      const timestamp = String(Math.floor(at.getTime() / 1000))
      const digest = createHmac('sha256', standard).update(`${id}.${timestamp}.`).update(body).digest('base64')
      return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${digest}` }
    },
  }
}

/**
 * The text after `whsec_` is the key in base64. If it is not valid base64, the whole secret is the key; a key is never
 * empty.
 */
function standardKey(secret: string): KeyObject {
  const encoded = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : ''
  const isEncoded = encoded !== '' && BASE64.test(encoded)
  return createSecretKey(isEncoded ? encoded : secret, isEncoded ? 'base64' : 'utf8')
}
