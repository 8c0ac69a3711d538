import { randomFillSync, randomInt } from 'node:crypto'

const LOWER = 'abcdefghijklmnopqrstuvwxyz0123456789'
const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

const pick = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

/** The public half of an API key: 16 characters of `[a-z0-9]`. */
export const newClientId = (): string => pick(LOWER, 16)

/** The secret half of an API key: 43 characters of `[A-Za-z0-9]`, 256 random bits. */
export const newApiSecret = (): string => pick(ALPHANUMERIC, 43)

/** `tmpl_…`, the id of a template family or an email template. */
export const newTemplateId = (): string => `tmpl_${pick(ALPHANUMERIC, 20)}`

/** `eml_…`, the id of an email. */
export const newEmailId = (): string => `eml_${pick(ALPHANUMERIC, 24)}`

/** `med_…`, the id of an uploaded file. */
export const newMediaId = (): string => `med_${pick(ALPHANUMERIC, 24)}`

const REQUEST_ID_BYTES = 12
const randomBytes = Buffer.alloc(REQUEST_ID_BYTES * 512)
let bytesUsed = randomBytes.length

/** `req_…`, the id of a request, returned as `X-Request-Id`. Random bytes for many ids are fetched at once. */
export function newRequestId(): string {
  if (bytesUsed === randomBytes.length) {
    randomFillSync(randomBytes)
    bytesUsed = 0
  }
  bytesUsed += REQUEST_ID_BYTES
  return `req_${randomBytes.toString('base64url', bytesUsed - REQUEST_ID_BYTES, bytesUsed)}`
}

/** Path ids that are not positive safe integers name nothing: `undefined`, answered like any missing record. */
export function parseId(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : undefined
}

/** A record among those of many companies: two companies may have one of the same id, since a moved company keeps its ids. */
export const recordKeyOf = ({ companyId, id }: { companyId: number; id: number }): string => `${companyId}.${id}`
