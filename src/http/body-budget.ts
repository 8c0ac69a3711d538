import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import { serviceUnavailable } from '../errors.ts'
import { hasBody } from './request-head.ts'

type Surface = NonNullable<FastifyContextConfig['surface']>

const MIB = 1024 * 1024
/** Bytes of all bodies in flight in this process. Each surface has its own, so that none can block another. */
const BUDGETS: Record<Surface, number> = {
  'api-key': 64 * MIB,
  operator: 16 * MIB,
  console: MIB,
  provider: 64 * MIB,
  public: 8 * MIB,
  health: MIB,
}
/** One company's share of the API's budget for bodies. */
const COMPANY_SHARE = 32 * MIB
const RETRY_AFTER_SECONDS = 2

/**
 * Counts bodies in flight before a byte of them is read: by `Content-Length`, or by the route's body limit without one,
 * until the request is answered. 503 with `Retry-After` when they would exceed the budget.
 */
export function createBodyBudget(): (request: FastifyRequest, reply: FastifyReply) => void {
  const surfaces = createLedger<Surface>()
  const companies = createLedger<number>()

  return (request, reply) => {
    const bytes = bytesOf(request)
    if (bytes === 0) return
    const { surface = 'api-key' } = request.routeOptions.config
    const companyId = request.caller?.companyId
    const isOver =
      surfaces.held(surface) + bytes > BUDGETS[surface] ||
      (companyId !== undefined && companies.held(companyId) + bytes > COMPANY_SHARE)
    if (isOver) throw serviceUnavailable('Too many request bodies are in flight: try again soon', RETRY_AFTER_SECONDS)
    surfaces.add(surface, bytes)
    if (companyId !== undefined) companies.add(companyId, bytes)
    // Emitted too for a response that still waits behind another when the connection is closed.
    reply.raw.once('close', () => {
      surfaces.add(surface, -bytes)
      if (companyId !== undefined) companies.add(companyId, -bytes)
    })
  }
}

/** A body that declares more than its route reads is not read: it is answered 413, or streamed by its route. */
function bytesOf({ raw: { headers }, routeOptions: { bodyLimit } }: FastifyRequest): number {
  if (!hasBody(headers)) return 0
  const declared = headers['content-length']
  if (declared === undefined) return bodyLimit
  return Number(declared) > bodyLimit ? 0 : Number(declared)
}

function createLedger<Key>() {
  const bytes = new Map<Key, number>()
  const held = (key: Key): number => bytes.get(key) ?? 0
  return {
    held,
    add: (key: Key, change: number): void => {
      const sum = held(key) + change
      if (sum === 0) bytes.delete(key)
      else bytes.set(key, sum)
    },
  }
}
