import { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { isLoopback, type TrustedProxies } from './client-address.ts'

/**
 * Whether a request came over HTTPS, or may do without (decisions: HTTPS): by this server's own TLS, by a trusted
 * proxy that says so, or, with PLAIN_HTTP=loopback, from this machine and through no proxy at all.
 */
export function createHttpsRule(
  config: Pick<Config, 'tls' | 'plainHttp'>,
  isTrusted: TrustedProxies,
): (request: FastifyRequest) => boolean {
  return ({ raw }) => {
    if (config.tls !== undefined || raw.socket instanceof TLSSocket) return true
    const peer = raw.socket.remoteAddress
    if (isTrusted(peer) && saysHttps(raw.headers['x-forwarded-proto'])) return true
    return config.plainHttp === 'loopback' && isLoopback(peer) && !isForwarded(raw.headers)
  }
}

/** Every proxy on the way must have been reached over HTTPS: one plain hop has shown the key to the network. */
const saysHttps = (header: string | string[] | undefined): boolean =>
  header !== undefined &&
  String(header)
    .split(',')
    .every((scheme) => scheme.trim().toLowerCase() === 'https')

const isForwarded = (headers: Record<string, unknown>): boolean =>
  Object.keys(headers).some((name) => name === 'forwarded' || name.startsWith('x-forwarded-'))
