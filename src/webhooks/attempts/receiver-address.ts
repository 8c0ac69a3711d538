import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { buildConnector } from 'undici'

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

/** Rejects with the resolver's code if there are no addresses. */
export type Resolve = (hostname: string) => Promise<string[]>

type GuardOptions = {
  allowPrivate: boolean
  connectTimeoutMs: number
  /** DNS only by default: no hosts files, no search domains. */
  resolve?: Resolve
  ca?: string
}

/** Must not contain the address, which would reveal the internal network to the caller. */
export class AddressNotPublic extends Error {
  readonly code = 'ADDRESS_NOT_PUBLIC'
  constructor() {
    super("the receiver's address is not public")
    this.name = 'AddressNotPublic'
  }
}

/**
 * Opens sockets to receivers. All DNS addresses must be public. Resolves a name only once, so it can't change after the check
 * (DNS rebinding); checks the peer again as a second line of defence.
 */
export function guardedConnector(options: GuardOptions): buildConnector.connector {
  const base = {
    timeout: options.connectTimeoutMs,
    allowH2: false,
    ...(options.ca !== undefined && { ca: options.ca }),
  }
  if (options.allowPrivate) return buildConnector(base)

  const lookup = guardedLookup(options.resolve ?? resolveByDns)
  const connect = buildConnector({ ...base, lookup, autoSelectFamily: true })
  return (target, callback) => {
    if (!isPublicHost(target.hostname)) return queueMicrotask(() => callback(new AddressNotPublic(), null))
    connect(target, (...result) => {
      const [error, socket] = result
      if (error !== null || socket.remoteAddress === undefined || isPublicAddress(socket.remoteAddress))
        return callback(...result)
      socket.destroy()
      callback(new AddressNotPublic(), null)
    })
  }
}

/** Returns a lookup for `net.connect` that yields only public addresses or an error. */
export function guardedLookup(resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolvePublic(resolve, hostname).then(
      (addresses) => {
        const [first] = addresses
        if (options.all) callback(null, addresses)
        else if (first !== undefined) callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    )
  }
}

async function resolvePublic(resolve: Resolve, hostname: string): Promise<{ address: string; family: number }[]> {
  const addresses = await resolve(hostname)
  if (addresses.length === 0) throw Object.assign(new Error('no addresses'), { code: 'ENOTFOUND' })
  if (!addresses.every(isPublicAddress)) throw new AddressNotPublic()
  return addresses.map((address) => ({ address, family: isIP(address) }))
}

/** c-ares: getaddrinfo runs on the process's four threads, and a hanging name server would block every receiver. */
async function resolveByDns(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2, maxTimeout: 4_000 })
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  const failure = answers.find((answer) => answer.status === 'rejected')
  if (addresses.length === 0 && failure !== undefined) throw failure.reason
  return addresses
}

const LOCAL_NAMES = ['localhost', 'local', 'internal', 'localdomain', 'home.arpa']
const LOCAL_NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b:1::/48')
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
/** Public ranges that clouds use internally; their other internal ranges are link-local or private. */
const CLOUD_INTERNAL = [
  '168.63.129.16/32', // Azure: platform services of a virtual machine
  '161.26.0.0/16', // IBM Cloud: services of the private network
  '166.8.0.0/14', // IBM Cloud: private endpoints of cloud services
  '199.36.153.4/30', // Google Cloud: restricted.googleapis.com
  '199.36.153.8/30', // Google Cloud: private.googleapis.com
].map((range) => ipaddr.IPv4.parseCIDR(range))

/** Returns whether an address is on the public internet. Embedded IPv4 addresses (IPv4-mapped, NAT64, 6to4, Teredo) decide. */
export function isPublicAddress(text: string): boolean {
  const literal = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '')
  if (!ipaddr.isValid(literal)) return false
  const address = ipaddr.parse(literal)
  if (address instanceof ipaddr.IPv4) return isPublicV4(address)
  const carried = carriedAddresses(address)
  if (carried !== undefined) return carried.every(isPublicV4)
  return address.match(GLOBAL_UNICAST) && address.range() === 'unicast'
}

const isPublicV4 = (address: ipaddr.IPv4): boolean =>
  address.range() === 'unicast' && !CLOUD_INTERNAL.some((range) => address.match(range))

function carriedAddresses(address: ipaddr.IPv6): ipaddr.IPv4[] | undefined {
  const bytes = address.toByteArray()
  const at = (start: number, mask = 0) => new ipaddr.IPv4(bytes.slice(start, start + 4).map((byte) => byte ^ mask))
  switch (address.range()) {
    case 'ipv4Mapped':
      return [at(12)]
    case 'rfc6052':
      // Under the local-use prefix 64:ff9b:1::/48, the operator chooses the position: never public.
      return address.match(LOCAL_NAT64) ? undefined : [at(12)]
    case '6to4':
      return [at(2)]
    case 'teredo':
      return [at(4), at(12, 0xff)]
    default:
      return undefined
  }
}

function isPublicName(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  const labels = name.split('.')
  if (name === '' || name.length > 253 || labels.some((label) => label === '' || label.length > 63)) return false
  return !LOCAL_NAMES.some((local) => name === local || name.endsWith(`.${local}`))
}
