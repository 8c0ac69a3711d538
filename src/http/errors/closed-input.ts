import type { FastifyContextConfig, FastifyInstance } from 'fastify'
import { badRequest, validationError } from '../../platform/errors.ts'
import { unknownName } from '../../platform/text/closest-name.ts'
import { isRecord } from '../record.ts'
import { mapShapes } from '../shapes.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Legacy addresses have always ignored unknown members and query parameters. */
    ignoresUnknown?: boolean
  }
}

const CLOSED: ReadonlySet<string> = new Set(['api-key', 'operator', 'console'])
const NO_PARAMETERS = { type: 'object', properties: {} }

/** Rejects unknown body members and query parameters on routes with schemas registered afterwards. */
export function closeInput(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (!isClosed(route.config) || route.schema === undefined) return
    const { body, querystring = NO_PARAMETERS } = route.schema
    route.schema = {
      ...route.schema,
      querystring: closedShape(querystring),
      ...(body !== undefined && { body: closedShape(body) }),
    }
  })
  app.addHook('preValidation', (request, _reply, done) => {
    const { schema, config } = request.routeOptions
    const hasShape = schema === undefined || schema.body !== undefined
    if (request.body === undefined || hasShape || !isClosed(config)) return done()
    refuseMembers(request.body)
    done()
  })
}

export const isClosed = ({ surface = 'api-key', ignoresUnknown = false }: FastifyContextConfig = {}): boolean =>
  CLOSED.has(surface) && !ignoresUnknown

function refuseMembers(body: unknown): void {
  if (!isRecord(body)) throw badRequest('The request takes no body')
  const faults = Object.keys(body).map((path) => ({ path, message: unknownName(path, []) }))
  if (faults.length > 0) throw validationError(faults)
}

export function closedShape(shape: unknown): unknown {
  if (!isRecord(shape)) return shape
  const closed = mapShapes(shape, closedShape)
  return isRecord(shape.properties) && !('additionalProperties' in shape)
    ? { ...closed, additionalProperties: false }
    : closed
}
