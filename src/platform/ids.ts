import { randomInt } from 'node:crypto'

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

/** Parses a path id; undefined unless a positive safe integer, to be answered like a missing record. */
export function parseId(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : undefined
}
