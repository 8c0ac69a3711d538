import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

const STANDARD_PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

export type Signer = {
  sign(body: Buffer): string
  /** Standard Webhooks: `id` must be stable across attempts, `at` must not (receivers reject old timestamps). */
  standardHeaders(id: string, at: Date, body: Buffer): Record<string, string>
}

/** Creates a signer: hex HMAC-SHA256 of the body, and Standard Webhooks headers. */
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

/** Decodes the base64 after `whsec_`; otherwise the whole secret is the key. Never empty. */
function standardKey(secret: string): KeyObject {
  const encoded = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : ''
  const isEncoded = encoded !== '' && BASE64.test(encoded)
  return createSecretKey(isEncoded ? encoded : secret, isEncoded ? 'base64' : 'utf8')
}
