import { isIP } from 'node:net'
import { isPublicAddress, isPublicName } from '../attempts/address/public-address.ts'

export const MAX_URL_LENGTH = 2048

/** `allowPrivate` is for local work: private addresses and plain http. */
export type ReceiverRules = { allowPrivate: boolean }

/** Checks a URL (decisions: section 10); addresses are checked on connect. The record keeps the URL, so rejects fragments. */
export function receiverUrlFault(text: string, rules: ReceiverRules): string | undefined {
  // The parser would drop these, and the called address would differ from the stored one.
  if (/[\u0000-\u0020\u007f\\]/.test(text)) return 'must not contain blanks, control characters or backslashes'
  const url = URL.parse(text)
  if (url === null) return 'must be a valid URL'
  if (url.protocol !== 'https:' && !(rules.allowPrivate && url.protocol === 'http:')) return 'must begin with https://'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password: use headers'
  if (url.hash !== '' || text.includes('#')) return 'must not contain a fragment (#)'
  if (!isReceiverPort(url.port)) return 'must have port 80, 443 or one of 1024 to 65535'
  if (!rules.allowPrivate && !isPublicHost(url.hostname)) return 'must have a public host name or address'
  return undefined
}

/** Returns whether the port is allowed (empty: default). Receivers must not probe mail, SSH or other low ports. */
export const isReceiverPort = (port: string): boolean =>
  port === '' || port === '80' || port === '443' || Number(port) >= 1024

/** Returns whether a URL host is public: literal addresses fully, names only by their labels. */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(host) === 0 ? isPublicName(host) : isPublicAddress(host)
}
