import { randomFillSync } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP, isIPv4 } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import {
  type AppError,
  badRequest,
  expectationFailed,
  notFound,
  unsupportedContentEncoding,
} from '../../platform/errors.ts'
import { type Config, isLoopbackHost } from '../../platform/settings/config.ts'

/** Rejects, with a body, what Node would reject without: a missing `Host` (400) and unknown `Expect` (417). */
export function checkProtocol({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') throw badRequest('The Host header is missing')
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) throw expectationFailed()
}

export function checkContentEncoding({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']
  if (encoding === undefined || /^(identity)?$/i.test(encoding.trim())) return
  if (hasBody(headers)) throw unsupportedContentEncoding()
}

/** See RFC 9112, 6. */
export const hasBody = (headers: IncomingMessage['headers']): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const unreadable = new WeakSet<object>()
// No route can have this path, so the usual hooks run and refuse the request.
const NOWHERE = '/%2F'

/** The router would answer undecodable addresses before the HTTPS rule and rate limit; Postgres rejects NUL. */
export function readableAddress(request: IncomingMessage): string {
  const url = request.url ?? '/'
  if (!url.includes('%') || isReadable(url)) return url
  unreadable.add(request)
  return NOWHERE
}

export const isUnreadable = (request: IncomingMessage): boolean => unreadable.has(request)

export const noRouteHere = (request: FastifyRequest): AppError =>
  isUnreadable(request.raw) ? badRequest('The address is not a valid URL') : notFound()

function isReadable(url: string): boolean {
  if (url.includes('%00')) return false
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '')
    return true
  } catch {
    return false
  }
}

export type ConsoleMark = { readonly surface: 'api-key' | 'operator'; readonly companyId: string | undefined }

const marks = new WeakMap<object, ConsoleMark>()
const PREFIXED = /^\/console\/api(?:\/as\/([^/?#]+))?(\/public\/v1\/.*|\/admin\/v1\/.*)$/s

/** Strips `/console/api` and marks the request. Only marked requests take their caller from the session cookie. */
export function unprefixedAddress(request: IncomingMessage, url: string): string {
  const [, companyId, path] = url.startsWith('/console/api/') ? (PREFIXED.exec(url) ?? []) : []
  if (path === undefined) return url
  const surface = path.startsWith('/admin/') ? 'operator' : 'api-key'
  if (surface === 'operator' && companyId !== undefined) return url
  marks.set(request, { surface, companyId })
  return path
}

export const consoleMark = (request: IncomingMessage): ConsoleMark | undefined => marks.get(request)

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

/** Accepts own TLS, HTTPS at a trusted proxy, or local requests with PLAIN_HTTP=loopback (decisions: HTTPS). */
export function createHttpsRule(
  config: Pick<Config, 'tls' | 'plainHttp'>,
  isTrusted: TrustedProxies,
): (request: FastifyRequest) => boolean {
  return ({ raw: { headers, socket } }) => {
    if (config.tls !== undefined || socket instanceof TLSSocket) return true
    if (isTrusted(socket.remoteAddress) && saysHttps(headers['x-forwarded-proto'])) return true
    return config.plainHttp === 'loopback' && isLoopback(socket.remoteAddress) && !isForwarded(headers)
  }
}

/** Returns advice if the settings would block every request; otherwise undefined. */
export function adviceOnHttps(
  config: Pick<Config, 'tls' | 'plainHttp' | 'trustProxy' | 'role' | 'host' | 'baseUrl'>,
): string | undefined {
  const { tls, plainHttp, trustProxy, role, host, baseUrl } = config
  if (tls !== undefined || plainHttp !== 'reject' || trustProxy.length > 0 || role === 'worker') return undefined
  const cause = !isLoopbackHost(host)
    ? `HOST=${host} takes requests over plain HTTP from other machines`
    : baseUrl.toLowerCase().startsWith('https:')
      ? 'BASE_URL is https, and neither a certificate nor a proxy is set'
      : 'PLAIN_HTTP=reject is set without a certificate or a proxy'
  return `Every request gets 403 (HTTPS is required): ${cause}. Set TRUST_PROXY to the address of your proxy, which sends X-Forwarded-Proto: https, or TLS_CERT_FILE and TLS_KEY_FILE`
}

/** Every hop must be HTTPS: a single plain one has exposed the key. */
const saysHttps = (header: string | string[] | undefined): boolean =>
  header !== undefined &&
  String(header)
    .split(',')
    .every((scheme) => scheme.trim().toLowerCase() === 'https')

/** Decoded path without query; host in lower case. */
type Addressed = { readonly method: string; readonly path: string; readonly host: string }

/** Refuses addresses that start with one of `prefixes`. */
export type AddressRule = {
  readonly prefixes: readonly string[]
  readonly refuse: (addressed: Addressed) => AppError | undefined
}

/** Returns why the rule refuses the requested address, or undefined. */
export function refusalOfAddress(
  rule: AddressRule | undefined,
  request: FastifyRequest,
  isTrusted: TrustedProxies,
): AppError | undefined {
  const path = decodePath(request.url)
  if (!rule?.prefixes.some((prefix) => path.startsWith(prefix))) return undefined
  return rule.refuse({ method: request.method, path, host: hostName(requestedHost(request, isTrusted)) })
}

/** Returns the requested host, with port if given; from `X-Forwarded-Host` behind a trusted proxy. */
export function requestedHost({ raw: { headers, socket } }: FastifyRequest, isTrusted: TrustedProxies): string {
  const forwarded = isTrusted(socket.remoteAddress) ? String(headers['x-forwarded-host'] ?? '') : ''
  const [first = ''] = (forwarded || (headers.host ?? '')).split(',')
  return first.trim()
}

const hostName = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:[0-9]*$/, '')
    .replace(/\.$/, '')

function decodePath(url: string): string {
  const end = url.search(/[?#]/)
  const path = end === -1 ? url : url.slice(0, end)
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

export const isHostOf = (own: URL, host: string): boolean =>
  /^[^@/?#\\]+$/.test(host) && URL.parse(`${own.protocol}//${host}`)?.host === own.host

/** Whether a `Host` header is safe from DNS rebinding: the host of BASE_URL, an IP address, or `localhost`. */
export function isUnrebindableHost(own: URL, host: string): boolean {
  if (isHostOf(own, host)) return true
  const name = /^[^@/?#\\]+$/.test(host) ? URL.parse(`http://${host}`)?.hostname : undefined
  return name !== undefined && (name === 'localhost' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0)
}

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
