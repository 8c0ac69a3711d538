import type { FastifyRequest } from 'fastify'
import type { AppError } from '../../platform/errors.ts'
import type { TrustedProxies } from '../admission/client-address.ts'

/** The input of an address rule: the path decoded and without its query, the host name in lower case. */
export type Addressed = { readonly method: string; readonly path: string; readonly host: string }

/** Refuses whole ranges of addresses, whatever is registered there: the refusal, or undefined. */
export type AddressRule = (addressed: Addressed) => AppError | undefined

/** Where a request was sent to. A proxy that is trusted says by which name it was reached. */
export const addressedTo = (request: FastifyRequest, isTrusted: TrustedProxies): Addressed =>
  new Destination(request, isTrusted)

/** A class, since an object with a getter of its own is slow to make, and every request makes one. */
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

  /** Computed on demand, since most rules never need it. */
  get host(): string {
    return hostName(requestedHost(this.request, this.isTrusted))
  }
}

/** The host that a client asked for, with its port where it gave one; a trusted proxy names it in `X-Forwarded-Host`. */
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
