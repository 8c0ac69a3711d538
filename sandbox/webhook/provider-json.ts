import { createHmac } from 'node:crypto'

/** JSON as the provider writes it: what is not ASCII is escaped, and every `/` is `\/`. */
export const providerJson = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll('/', '\\/')
    .replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** The value of `X-Hub-Signature-256` for exactly these bytes. */
export const signatureOf = (body: Buffer, appSecret: string): string =>
  `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`
