import type { IncomingMessage } from 'node:http'
import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
export type TrustedProxies = (address: string | undefined) => boolean

/** Builds a check for trusted proxies from TRUST_PROXY (addresses and CIDRs). */
export function trustedProxies(list: readonly string[]): TrustedProxies {
  const ranges = list.map(toRange)
  if (ranges.length === 0) return () => false
  return (text) => {
    const address = parseAddress(text)
    return address !== undefined && ranges.some(([base, bits]) => isWithin(address, base, bits))
  }
}

const isWithin = (address: Address, base: Address, bits: number): boolean =>
  address.kind() === base.kind() && address.match(base, bits)

function toRange(item: string): [Address, number] {
  const [base, bits] = item.includes('/') ? ipaddr.parseCIDR(item) : wholeAddress(ipaddr.parse(item))
  // `::ffff:10.0.0.0/104` equals `10.0.0.0/8`.
  if (base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96) return [base.toIPv4Address(), bits - 96]
  return [base, bits]
}

const wholeAddress = (address: Address): [Address, number] => [address, address.kind() === 'ipv4' ? 32 : 128]

function parseAddress(text: string | undefined): Address | undefined {
  return text !== undefined && ipaddr.isValid(text) ? ipaddr.process(text) : undefined
}

export const isLoopback = (text: string | undefined): boolean => parseAddress(text)?.range() === 'loopback'

const NEARBY = new Set<string | undefined>(['loopback', 'private', 'uniqueLocal'])

/** Whether an address is loopback or private (RFC 1918, RFC 4193). */
export const isNearby = (text: string | undefined): boolean => NEARBY.has(parseAddress(text)?.range())

export const isForwarded = (headers: Record<string, unknown>): boolean =>
  Object.keys(headers).some((name) => name === 'forwarded' || name.startsWith('x-forwarded-'))

/**
 * Returns the address for anonymous rate limits (decisions: Rate limit): the socket peer, or behind trusted proxies the
 * last untrusted `X-Forwarded-For` address. IPv6 counts by /64, since one subscriber holds it all.
 */
export function clientAddress(request: IncomingMessage, isTrusted: TrustedProxies): string {
  let client = request.socket.remoteAddress
  const hops = isTrusted(client) ? forwardedFor(request) : []
  while (hops.length > 0 && isTrusted(client)) {
    const hop = hops.pop()
    if (parseAddress(hop) === undefined) break
    client = hop
  }
  return networkOf(client)
}

function forwardedFor(request: IncomingMessage): string[] {
  const header = request.headers['x-forwarded-for']
  const text = Array.isArray(header) ? header.join(',') : (header ?? '')
  return text.split(',').map((hop) => withoutPort(hop.trim()))
}

const withoutPort = (hop: string): string =>
  hop.replace(/^\[(.*)\](:[0-9]+)?$/, '$1').replace(/^([0-9.]+):[0-9]+$/, '$1')

/** Returns the address to count costs against; for IPv6 the network. */
export function networkOf(text: string | undefined): string {
  if (text !== undefined && isIPv4(text)) return text
  const address = parseAddress(text)
  if (address === undefined) return 'unknown'
  if (address instanceof ipaddr.IPv4) return address.toString()
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
