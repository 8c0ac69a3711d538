import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import { type Config, isLoopbackHost } from '../../platform/settings/config.ts'
import { isForwarded, isLoopback, type TrustedProxies } from '../admission/client-address.ts'

type Peer = { isTrusted: boolean; isLoopback: boolean }

/** Accepts own TLS, HTTPS at a trusted proxy, or local requests with PLAIN_HTTP=loopback (decisions: HTTPS). */
export function createHttpsRule(
  config: Pick<Config, 'tls' | 'plainHttp'>,
  isTrusted: TrustedProxies,
): (request: FastifyRequest) => boolean {
  const peerOf = rememberPeers(isTrusted)
  return ({ raw }) => {
    if (config.tls !== undefined || raw.socket instanceof TLSSocket) return true
    const peer = peerOf(raw.socket)
    if (peer.isTrusted && saysHttps(raw.headers['x-forwarded-proto'])) return true
    return config.plainHttp === 'loopback' && peer.isLoopback && !isForwarded(raw.headers)
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

function rememberPeers(isTrusted: TrustedProxies): (socket: Socket) => Peer {
  const peers = new WeakMap<Socket, Peer>()
  return (socket) => {
    const cached = peers.get(socket)
    if (cached !== undefined) return cached
    const { remoteAddress } = socket
    const peer = { isTrusted: isTrusted(remoteAddress), isLoopback: isLoopback(remoteAddress) }
    peers.set(socket, peer)
    return peer
  }
}

/** Every hop must be HTTPS: a single plain one has exposed the key. */
const saysHttps = (header: string | string[] | undefined): boolean =>
  header !== undefined &&
  String(header)
    .split(',')
    .every((scheme) => scheme.trim().toLowerCase() === 'https')
