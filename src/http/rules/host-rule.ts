import { isIP } from 'node:net'

export const isHostOf = (own: URL, host: string): boolean =>
  /^[^@/?#\\]+$/.test(host) && URL.parse(`${own.protocol}//${host}`)?.host === own.host

/** Whether a `Host` header is safe from DNS rebinding: the host of BASE_URL, an IP address, or `localhost`. */
export function isUnrebindableHost(own: URL, host: string): boolean {
  if (isHostOf(own, host)) return true
  const name = /^[^@/?#\\]+$/.test(host) ? URL.parse(`http://${host}`)?.hostname : undefined
  return name !== undefined && (name === 'localhost' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0)
}
