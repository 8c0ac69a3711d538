import { domainToASCII, domainToUnicode } from 'node:url'

/** Longest address that mail can be sent to (RFC 5321), in characters of its wire form. */
export const EMAIL_MAX_LENGTH = 254

// No spaces, control characters, quotes, commas, semicolons, backslashes or brackets anywhere: what could end a header or
// start a second recipient is no address here.
const LOCAL = /^[^\s\p{Cc}\p{Cf}@"(),:;<>[\\\]]{1,64}$/u
/** At least two labels. */
const ASCII_DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$/
/** Characters of domain labels in any script, and the dots of UTS 46. */
const WRITTEN_DOMAIN = /^[\p{L}\p{M}\p{N}\-.\u3002\uff0e\uff61\p{Join_Control}\u30fb\u00b7]+$/u
const BEYOND_ASCII = /[^\0-\x7f]/u

/** Whether a text is an address that can be stored and sent to: at most 254 characters, with a dotted domain. */
export function isEmail(text: string): boolean {
  const { local, domain } = split(text)
  return LOCAL.test(local) && WRITTEN_DOMAIN.test(domain) && isSendable(`${local}@${toAscii(domain)}`)
}

function isSendable(address: string): boolean {
  return address.length <= EMAIL_MAX_LENGTH && ASCII_DOMAIN.test(split(address).domain)
}

/**
 * Returns the address as mails carry it: the domain in ASCII (UTS 46), the local part as written. All spellings of a domain
 * give one.
 */
export function wireAddress(email: string): string {
  const { local, domain } = split(email)
  return `${local.normalize('NFC')}@${toAscii(domain)}`
}

/** Whether only mail servers with SMTPUTF8 take the address. */
export const needsSmtpUtf8 = (email: string): boolean => BEYOND_ASCII.test(split(email).local)

/** Returns the address as it is compared: all spellings of one mailbox give one text. The database makes it for ASCII only. */
export function emailKey(email: string): string {
  const { local, domain } = split(email)
  return `${local.normalize('NFC').toLowerCase()}@${toAscii(domain)}`
}

/** Returns the key of an address as it is stored beside the address; null: the database can make it. */
export const storedMailbox = (email: string): string | null => (BEYOND_ASCII.test(email) ? emailKey(email) : null)

/**
 * Returns the texts under which rows of a mailbox may be stored, its key first. Until 2026 a domain was stored in the spelling
 * given, and what is kept as a hash cannot be rewritten.
 */
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

/** ASCII is left to itself: the library takes `1.2` for the number of a host. */
function toAscii(domain: string): string {
  if (!BEYOND_ASCII.test(domain)) return domain.toLowerCase()
  return domainToASCII(domain) || domain.normalize('NFC').toLowerCase()
}
