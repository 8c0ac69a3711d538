import type { IncomingMessage } from 'node:http'

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
