import type { IncomingMessage } from 'node:http'

/** The target of a request below the console's prefix; `companyId` is the company that an operator acts for. */
export type ConsoleMark = { readonly surface: 'api-key' | 'operator'; readonly companyId: string | undefined }

const marks = new WeakMap<object, ConsoleMark>()
const PREFIXED = /^\/console\/api(?:\/as\/([^/?#]+))?(\/public\/v1\/.*|\/admin\/v1\/.*)$/s

/**
 * The address that the router is given: below `/console/api` it is that of the API, and the request is marked. A marked
 * request takes its caller from the session's cookie, and no other request reads cookies.
 */
export function unprefixedAddress(request: IncomingMessage, url: string): string {
  const [, companyId, path] = url.startsWith('/console/api/') ? (PREFIXED.exec(url) ?? []) : []
  if (path === undefined) return url
  const surface = path.startsWith('/admin/') ? 'operator' : 'api-key'
  if (surface === 'operator' && companyId !== undefined) return url
  marks.set(request, { surface, companyId })
  return path
}

/** How a request of the console was addressed; undefined for every other request. */
export const consoleMark = (request: IncomingMessage): ConsoleMark | undefined => marks.get(request)
