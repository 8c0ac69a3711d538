import { isIP } from 'node:net'
import { isPublicAddress, isPublicName } from '../attempts/address/public-address.ts'

export const MAX_URL_LENGTH = 2048

/** Where deliveries may go. `allowPrivate` is for local work: private addresses and plain http. */
export type ReceiverRules = { allowPrivate: boolean }

/**
 * The fault of a receiver's address as far as its text shows it (decisions: section 10), or undefined. The IP address
 * of a name is checked where the socket opens. A fragment is refused and not dropped: it would never reach the
 * receiver, and the record has the address as the request has it.
 */
export function receiverUrlFault(text: string, rules: ReceiverRules): string | undefined {
  // The parser drops tabs and line ends and trims blanks: the stored address would not be the one that is called.
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

/**
 * Returns whether a receiver may use this port; empty is the scheme's default. Other ports below 1024 belong to services such as
 * mail and SSH, which a registration must not reach or probe.
 */
export const isReceiverPort = (port: string): boolean =>
  port === '' || port === '80' || port === '443' || Number(port) >= 1024

/** Whether the host of a parsed URL is public as far as it shows: a literal address fully, a name by its labels. */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(host) === 0 ? isPublicName(host) : isPublicAddress(host)
}
