import { isIP } from 'node:net'

/** Whether a `Host` header names the host and port of an address; the default port may be left out. */
export const isHostOf = (own: URL, host: string): boolean =>
  /^[^@/?#\\]+$/.test(host) && URL.parse(`${own.protocol}//${host}`)?.host === own.host

/**
 * Whether a `Host` header cannot come from a page of another site whose name was changed to lead here (DNS rebinding): it
 * names the host of BASE_URL, an IP address, or `localhost`. The browser sends the page's own name, which the site owns.
 */
export function isUnrebindableHost(own: URL, host: string): boolean {
  if (isHostOf(own, host)) return true
  const name = /^[^@/?#\\]+$/.test(host) ? URL.parse(`http://${host}`)?.hostname : undefined
  return name !== undefined && (name === 'localhost' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0)
}
