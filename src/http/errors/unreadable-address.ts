import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { type AppError, badRequest, notFound } from '../../platform/errors.ts'

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
