import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { type AppError, badRequest, notFound } from '../../platform/errors.ts'

const unreadable = new WeakSet<object>()
// A path that no route can have: what comes here is refused like any unknown address, through the same hooks.
const NOWHERE = '/%2F'

/**
 * The address that the router is given. The router would answer one that cannot be decoded by itself, past HTTPS rule
 * and count; and one with a NUL would reach the database, which takes none.
 */
export function readableAddress(request: IncomingMessage): string {
  const url = request.url ?? '/'
  if (!url.includes('%') || isReadable(url)) return url
  unreadable.add(request)
  return NOWHERE
}

/** Whether the address of a request could not be decoded, or contains NUL. */
export const isUnreadable = (request: IncomingMessage): boolean => unreadable.has(request)

/** The answer at an address without a route: 400 if it cannot be decoded, otherwise 404. */
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
