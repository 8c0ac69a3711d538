import { createHmac } from 'node:crypto'

const STANDARD_PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

/** The specification's signature: HMAC-SHA256 over exactly these bytes, keyed with the secret, in hex. */
export const signBody = (secret: string, body: string): string =>
  createHmac('sha256', secret).update(body).digest('hex')

/**
 * The headers of the Standard Webhooks scheme. `id` is stable over attempts, `at` is when this attempt is made:
 * receivers refuse timestamps that are some minutes old.
 */
export function standardHeaders(secret: string, id: string, at: Date, body: string): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const digest = createHmac('sha256', standardKey(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${digest}` }
}

/** What follows `whsec_` is the key in base64; a secret that only looks like it is taken as it is, never as no key. */
function standardKey(secret: string): Buffer {
  const encoded = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : ''
  return encoded !== '' && BASE64.test(encoded) ? Buffer.from(encoded, 'base64') : Buffer.from(secret, 'utf8')
}
