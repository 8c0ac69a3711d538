import { domainToASCII, domainToUnicode } from 'node:url'

/** RFC 5321 limit, in characters of the wire form. */
export const EMAIL_MAX_LENGTH = 254

// Rejects anything that could end a header or start a second recipient.
const LOCAL = /^[^\s\p{Cc}\p{Cf}@"(),:;<>[\\\]]{1,64}$/u
const ASCII_DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$/
const WRITTEN_DOMAIN = /^[\p{L}\p{M}\p{N}\-.\u3002\uff0e\uff61\p{Join_Control}\u30fb\u00b7]+$/u
const BEYOND_ASCII = /[^\0-\x7f]/u

/** Returns whether an address can be stored and sent to: at most 254 characters, with a dotted domain. */
export function isEmail(text: string): boolean {
  const { local, domain } = split(text)
  return LOCAL.test(local) && WRITTEN_DOMAIN.test(domain) && isSendable(`${local}@${toAscii(domain)}`)
}

function isSendable(address: string): boolean {
  return address.length <= EMAIL_MAX_LENGTH && ASCII_DOMAIN.test(split(address).domain)
}

/** Returns the wire form: the domain in ASCII (UTS 46), the local part as written. */
export function wireAddress(email: string): string {
  const { local, domain } = split(email)
  return `${local.normalize('NFC')}@${toAscii(domain)}`
}

export const needsSmtpUtf8 = (email: string): boolean => BEYOND_ASCII.test(split(email).local)

/** Returns the comparison key, equal for all spellings of a mailbox. The database computes ASCII keys only. */
export function emailKey(email: string): string {
  const { local, domain } = split(email)
  return `${local.normalize('NFC').toLowerCase()}@${toAscii(domain)}`
}

/** Null: the database can compute the key. */
export const storedMailbox = (email: string): string | null => (BEYOND_ASCII.test(email) ? emailKey(email) : null)

/** Current key first: until 2026 domains were stored as spelled, and hashes can't be rewritten. */
export function storedKeys(key: string): string[] {
  const { local, domain } = split(key)
  if (!domain.includes('xn--')) return [key]
  const unicode = domainToUnicode(domain)
  return unicode === '' || unicode === domain ? [key] : [key, `${local}@${unicode}`]
}

function split(email: string): { local: string; domain: string } {
  const at = email.lastIndexOf('@')
  return at === -1 ? { local: '', domain: email } : { local: email.slice(0, at), domain: email.slice(at + 1) }
}

/** ASCII must bypass the library, which reads `1.2` as a host number. */
function toAscii(domain: string): string {
  if (!BEYOND_ASCII.test(domain)) return domain.toLowerCase()
  return domainToASCII(domain) || domain.normalize('NFC').toLowerCase()
}
