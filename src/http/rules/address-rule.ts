import type { FastifyRequest } from 'fastify'
import type { AppError } from '../../platform/errors.ts'
import type { TrustedProxies } from '../admission/client-address.ts'

/** Decoded path without query; host in lower case. */
type Addressed = { readonly method: string; readonly path: string; readonly host: string }

export type AddressRule = (addressed: Addressed) => AppError | undefined

export const addressedTo = (request: FastifyRequest, isTrusted: TrustedProxies): Addressed =>
  new Destination(request, isTrusted)

/** A class, because an object literal with a getter is slow to create, and every request needs one. */
class Destination implements Addressed {
  readonly method: string
  readonly path: string
  private readonly request: FastifyRequest
  private readonly isTrusted: TrustedProxies

  constructor(request: FastifyRequest, isTrusted: TrustedProxies) {
    this.method = request.method
    this.path = decodePath(request.url)
    this.request = request
    this.isTrusted = isTrusted
  }

  get host(): string {
    return hostName(requestedHost(this.request, this.isTrusted))
  }
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
