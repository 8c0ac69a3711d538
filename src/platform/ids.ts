import { randomFillSync, randomInt } from 'node:crypto'

const LOWER = 'abcdefghijklmnopqrstuvwxyz0123456789'
const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

const pick = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

/** Returns an API key's public half: 16 characters of `[a-z0-9]`. */
export const newClientId = (): string => pick(LOWER, 16)

/** Has 43 characters of `[A-Za-z0-9]`, 256 random bits. */
export const newApiSecret = (): string => pick(ALPHANUMERIC, 43)

export const newTemplateId = (): string => `tmpl_${pick(ALPHANUMERIC, 20)}`

export const newEmailId = (): string => `eml_${pick(ALPHANUMERIC, 24)}`

export const newMediaId = (): string => `med_${pick(ALPHANUMERIC, 24)}`

const REQUEST_ID_BYTES = 12
const randomBytes = Buffer.alloc(REQUEST_ID_BYTES * 512)
let bytesUsed = randomBytes.length

/** Fetches random bytes for many ids at once. */
export function newRequestId(): string {
  if (bytesUsed === randomBytes.length) {
    randomFillSync(randomBytes)
    bytesUsed = 0
  }
  bytesUsed += REQUEST_ID_BYTES
  return `req_${randomBytes.toString('base64url', bytesUsed - REQUEST_ID_BYTES, bytesUsed)}`
}

/** Parses a path id; undefined unless a positive safe integer, to be answered like a missing record. */
export function parseId(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : undefined
}

/** Moved companies keep their ids, so two may share one. */
export const recordKeyOf = ({ companyId, id }: { companyId: number; id: number }): string => `${companyId}.${id}`
