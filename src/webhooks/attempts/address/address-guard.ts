import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isPublicHost } from '../../registrations/receiver-url.ts'
import { isPublicAddress } from './public-address.ts'

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
